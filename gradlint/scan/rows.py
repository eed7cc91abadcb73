"""The rows of a corpus: one for each Python file, and one for each thing that cannot be used."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from gradlint.source.discover import SUFFIXES

STAGED = pa.schema(
    [
        ("shard", pa.int32()),
        ("repository", pa.string()),
        ("path", pa.string()),
        ("content", pa.large_binary()),
        ("problem", pa.string()),
    ]
)
"""A corpus on its way to the check; `problem` says why there is no content."""

_BUFFERED = 256_000_000
"""So many bytes of files are held before they are written."""


class Row(NamedTuple):
    """One file of a repository; without content, what is wrong with it."""

    repository: str
    path: str
    content: bytes | None
    problem: str | None = None


class Columns(NamedTuple):
    """The names of the columns of a dataset."""

    repository: str = "repository"
    path: str = "path"
    content: str = "content"


def is_python(path: str) -> bool:
    """Return whether a path is one of those that are checked."""
    return path.lower().endswith(SUFFIXES)


def row_of(repository: str, path: str, content: bytes) -> Row:
    """Return a row; what cannot be written as UTF-8 is refused, under a name that can."""
    for name in (repository, path):
        try:
            name.encode()
        except UnicodeEncodeError:
            shown = path.encode(errors="backslashreplace").decode()
            return Row(repository.encode(errors="backslashreplace").decode(), shown, None, "the name is not UTF-8")
    return Row(repository, path, content)


def refused(row: Row, problem: str) -> Row:
    """Return a row without content, for this reason."""
    return row._replace(content=None, problem=row.problem or problem)


def row_of_values(columns: Columns, values: Sequence[object], file: str, at: str) -> Row | None:
    """Return the row for the values of repository, path and content; None if it is no Python file.

    Names, and a content that is a text, must be UTF-8. Bytes are the bytes of a file, whatever its encoding.
    """
    found = []
    for column, value in zip(columns, values, strict=True):
        try:
            if not isinstance(value, (str, bytes)):
                raise ValueError("is null" if value is None else "is neither text nor bytes")
            found.append(value.encode() if isinstance(value, str) else value)
            if column != columns.content:
                found[-1].decode()
        except UnicodeError:
            return Row("", file, None, f"{at}: {column} is not UTF-8")
        except ValueError as error:
            return Row("", file, None, f"{at}: {column} {error}")
    repository, path, content = found
    return Row(repository.decode(), path.decode(), content) if is_python(path.decode()) else None


def shard_of(repository: str, shards: int) -> int:
    """Return the shard in which a repository is, on every machine and in every run."""
    return int.from_bytes(blake2b(repository.encode(), digest_size=8).digest(), "big") % shards


def table_of(rows: Iterable[Row], shards: int) -> pa.Table:
    """Return rows as they are staged."""
    staged = [{"shard": shard_of(row.repository, shards), **row._asdict()} for row in rows]
    return pa.Table.from_pylist(staged, STAGED)


def stage(rows: Iterable[Row], folder: Path, shards: int) -> int:
    """Write rows by shard, each into files of a directory of its own; return how many there are."""
    number, size, part = 0, 0, 0
    buffers: dict[int, list[Row]] = {}

    def flush() -> None:
        for shard, buffered in buffers.items():
            (folder / str(shard)).mkdir(parents=True, exist_ok=True)
            pq.write_table(table_of(buffered, shards), folder / str(shard) / f"{part}.parquet", compression="zstd")
        buffers.clear()

    for row in rows:
        number += 1
        size += len(row.content or b"")
        buffers.setdefault(shard_of(row.repository, shards), []).append(row)
        if size > _BUFFERED:
            flush()
            part, size = part + 1, 0
    flush()
    return number


def staged(folder: Path, shard: int) -> Iterator[Path]:
    """Yield the files of a shard."""
    yield from sorted((folder / str(shard)).glob("*.parquet"))
