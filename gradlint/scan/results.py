"""What a scan leaves: a directory of Parquet tables, of which each part holds a shard, and is written whole."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

import msgspec
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from gradlint.settings.config import ConfigError

FILES = pa.schema(
    [
        ("repository", pa.string()),
        ("path", pa.string()),
        ("hash", pa.string()),
        ("status", pa.string()),
        ("reason", pa.string()),
        ("findings", pa.int32()),
        ("cpu_seconds", pa.float64()),
        ("repository_hash", pa.string()),
        ("version", pa.string()),
    ]
)
FINDINGS = pa.schema(
    [
        ("repository", pa.string()),
        ("path", pa.string()),
        ("hash", pa.string()),
        ("code", pa.string()),
        ("name", pa.string()),
        ("severity", pa.string()),
        ("cell", pa.int32()),
        ("line", pa.int32()),
        ("column", pa.int32()),
        ("end_line", pa.int32()),
        ("end_column", pa.int32()),
        ("message", pa.string()),
        ("assumptions", pa.list_(pa.string())),
        ("version", pa.string()),
    ]
)
COUNTS = pa.schema([("repository", pa.string()), ("code", pa.string()), ("findings", pa.int64())])
_TABLES = {"files": FILES, "findings": FINDINGS}


class Output:
    """The directory of the results."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, source: str, shards: int) -> None:
        """Make the directory, or continue in it.

        Raises:
            ConfigError: it holds the results of another scan, or something else, or cannot be written to.
        """
        try:
            self._begin(source, shards)
        except OSError as error:
            raise ConfigError(f"cannot write to {self.folder}: {error.strerror}") from None

    def _begin(self, source: str, shards: int) -> None:
        about = self.folder / "scan.json"
        wanted = {"source": source, "shards": shards}
        if not about.exists():
            if self.folder.is_dir() and any(self.folder.iterdir()):
                raise ConfigError(f"{self.folder} holds something else; name a directory that is empty or new")
            self.folder.mkdir(parents=True, exist_ok=True)
            _write(about, lambda path: path.write_bytes(msgspec.json.encode(wanted)))
        for table in _TABLES:
            (self.folder / table).mkdir(exist_ok=True)
        known = msgspec.json.decode(about.read_bytes())
        if known != wanted:
            raise ConfigError(f"{self.folder} holds a scan of {known['source']} in {known['shards']} shards")

    def read(self, table: str, shard: int) -> pa.Table:
        """Return a part; without one, no rows."""
        path = self._part(table, shard)
        return read(path) if path.exists() else _TABLES[table].empty_table()

    def commit(self, shard: int, files: pa.Table, findings: pa.Table) -> None:
        """Write both parts of a shard. The files come last: a finding counts only once its file is there."""
        for table, rows in (("findings", findings), ("files", files)):
            _write(self._part(table, shard), partial(pq.write_table, rows, compression="zstd"))

    def drop_others(self, shards: Iterable[int]) -> None:
        """Delete the parts of shards of which the source has nothing any more."""
        kept = {self._part("files", shard).name for shard in shards}
        for table in ("files", "findings"):
            for part in (self.folder / table).iterdir():
                if part.name not in kept:
                    part.unlink()

    def parts(self, table: str, columns: Sequence[str]) -> Iterable[pa.Table]:
        """Yield some columns of each part."""
        for part in sorted((self.folder / table).glob("*.parquet")):
            yield read(part, columns)

    def count(self) -> pa.Table:
        """Count findings by repository and rule; write and return the counts."""
        counts = [COUNTS.empty_table()]
        for part in self.parts("findings", ["repository", "code"]):
            grouped = part.group_by(["repository", "code"]).aggregate([([], "count_all")])
            counts.append(grouped.select(["repository", "code", "count_all"]).rename_columns(COUNTS.names))
        table = pa.concat_tables(counts).sort_by([("repository", "ascending"), ("code", "ascending")])
        _write(self.folder / "counts.parquet", lambda path: pq.write_table(table, path))
        return table

    def statuses(self) -> dict[str, int]:
        """Return how many files have which status."""
        parts = pa.concat_tables([FILES.empty_table().select(["status"]), *self.parts("files", ["status"])])
        return {one["values"]: one["counts"] for one in pc.value_counts(parts["status"]).to_pylist()}

    def refused(self, most: int) -> list[dict[str, Any]]:
        """Return the first rows about what could not be used."""
        rows: list[dict[str, Any]] = []
        for part in self.parts("files", ["repository", "path", "status", "reason"]):
            rows += part.filter(pc.equal(part["status"], "refused")).slice(0, most).to_pylist()
        return rows[:most]

    def _part(self, table: str, shard: int) -> Path:
        return self.folder / table / f"{shard:05}.parquet"


def read(path: Path, columns: Sequence[str] | None = None) -> pa.Table:
    """Return a table; names of directories add no columns to it."""
    with pq.ParquetFile(path) as file:
        return file.read(columns=columns)


def _write(path: Path, write: Callable[[Path], object]) -> None:
    """Write a file whole, in the place of what is there, or not at all."""
    made = path.with_name(f".tmp-{uuid4().hex}")
    try:
        write(made)
        with open(made, "rb") as file:
            os.fsync(file.fileno())
        os.replace(made, path)
    except BaseException:
        made.unlink(missing_ok=True)
        raise
