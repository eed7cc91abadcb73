"""Corpora by their shape: datasets, archives, directories of repositories, packages of the index."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import re
import subprocess
import sys
import tarfile
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq

from gradlint.scan.rows import Columns, Row, is_python, refused, row_of, row_of_values
from gradlint.settings.config import Config, ConfigError
from gradlint.settings.nearest import Configs
from gradlint.source.discover import Discovery
from gradlint.source.documents.kinds import largest_of
from gradlint.source.read import Unusable, read_bytes

PACKAGES = "packages:"
_SHAPES = {
    "parquet": (".parquet",),
    "jsonl": (".jsonl", ".jsonl.gz", ".jsonl.zst"),
    "tar": (".tar", ".tar.gz", ".tgz", ".tar.xz", ".tar.bz2"),
}
_OPENED: dict[str, Callable[..., Any]] = {"gz": gzip.open, "xz": lzma.open, "bz2": bz2.open}
_REQUIREMENT = re.compile(r"[A-Za-z0-9][\w.-]*(==[\w.!+]+)?", re.ASCII)
_BROKEN = (OSError, EOFError, tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, RuntimeError)


def shape_of(path: Path) -> str | None:
    """Return the shape of a file; None if it is no corpus."""
    return next((shape for shape, endings in _SHAPES.items() if path.name.lower().endswith(endings)), None)


def files_of(source: str) -> list[Path]:
    """Return the datasets and archives that a source is, or holds; none for packages and directories of repositories.

    Raises:
        ConfigError: there is nothing that can be scanned.
    """
    path = Path(source)
    if source.startswith(PACKAGES):
        if not Path(source.removeprefix(PACKAGES)).is_file():
            raise ConfigError(f"{source.removeprefix(PACKAGES)}: no such file with the names of packages")
        return []
    if path.is_dir():
        return sorted(file for file in path.iterdir() if file.is_file() and shape_of(file))
    if not path.exists():
        raise ConfigError(f"{source}: no such file or directory")
    if shape_of(path) is None:
        endings = ", ".join(ending for some in _SHAPES.values() for ending in some)
        raise ConfigError(f"{source} is neither a directory nor one of {endings}")
    return [path]


def rows_of(source: str, columns: Columns) -> Iterator[Row]:
    """Yield the rows of a source."""
    files = files_of(source)
    if source.startswith(PACKAGES):
        yield from _packages(Path(source.removeprefix(PACKAGES)))
    elif not files:
        yield from _repositories(Path(source))
    for file in files:
        try:
            if shape_of(file) == "parquet":
                yield from _parquet(file, columns)
            elif shape_of(file) == "jsonl":
                yield from _json_lines(file, columns)
            else:
                yield from _tar(file)
        except _RefusedError as error:
            yield Row("", str(file), None, str(error))
        except _BROKEN as error:
            yield Row("", str(file), None, f"cannot be read to its end: {' '.join(str(error).split())}")


class _RefusedError(Exception):
    """Why a file of a source cannot be used."""


def missing_columns(file: Path, columns: Columns) -> str | None:
    """Return what a Parquet file lacks, or why it cannot be read; None if it can be used."""
    try:
        names = pq.read_schema(file).names
    except (OSError, pa.ArrowException) as error:
        return f"cannot be read: {' '.join(str(error).split())}"
    lacking = [f"`{column}`" for column in columns if column not in names]
    return f"there is no column {', '.join(lacking)}; it has {', '.join(names)}" if lacking else None


def values_of(batch: pa.Table | pa.RecordBatch, columns: Columns) -> Iterator[tuple[object, ...]]:
    """Yield the values of repository, path and content, row by row."""
    return zip(*(_values(batch.column(column)) for column in columns), strict=True)


def _values(column: pa.Array | pa.ChunkedArray) -> list[object]:
    """Return bytes, or texts; what is not UTF-8 in a text becomes surrogates, which no text has."""
    if pa.types.is_binary(column.type) or pa.types.is_large_binary(column.type):
        return list(column.to_pylist())
    values = column.cast(pa.large_string()).cast(pa.large_binary()).to_pylist()
    return [None if value is None else value.decode(errors="surrogateescape") for value in values]


def _parquet(file: Path, columns: Columns) -> Iterator[Row]:
    problem = missing_columns(file, columns)
    if problem is not None:
        raise _RefusedError(problem)
    number = 0
    try:
        with pq.ParquetFile(file) as dataset:
            for batch in dataset.iter_batches(batch_size=1_000, columns=list(columns), use_threads=False):
                for values in values_of(batch, columns):
                    number += 1
                    row = row_of_values(columns, values, str(file), f"row {number}")
                    if row is not None:
                        yield row
    except pa.ArrowException as error:
        raise _RefusedError(f"cannot be read after row {number}: {' '.join(str(error).split())}") from None


def _json_lines(file: Path, columns: Columns) -> Iterator[Row]:
    with pa.input_stream(str(file), compression="detect") as stream:
        for number, line in enumerate(io.BufferedReader(stream), 1):
            row = row_of_line(line, columns, str(file), f"row {number}")
            if row is not None:
                yield row


def row_of_line(line: bytes, columns: Columns, file: str, at: str) -> Row | None:
    """Return the row of a line of JSON; None if it is no Python file, or the line is empty."""
    if not line.strip():
        return None
    try:
        value = msgspec.json.decode(line)
    except (msgspec.DecodeError, RecursionError, UnicodeError) as error:
        return Row("", file, None, f"{at}: {error}")
    if not isinstance(value, dict):
        return Row("", file, None, f"{at}: it is no JSON object")
    lacking = [f"`{column}`" for column in columns if column not in value]
    if lacking:
        return Row("", file, None, f"{at}: there is no {', '.join(lacking)}")
    return row_of_values(columns, [value[column] for column in columns], file, at)


def _tar(archive: Path) -> Iterator[Row]:
    """Yield the Python files of a tar archive; the repository of each is its top-level directory."""
    # tarfile's own decompression takes the end of a truncated file for that of the archive.
    opened = next((opened for ending, opened in _OPENED.items() if archive.name.lower().endswith(ending)), open)
    with opened(archive, "rb") as file, tarfile.open(fileobj=file, mode="r|") as tar:
        for member in tar:
            if is_python(member.name) and not member.isdir():
                top, slash, rest = member.name.removeprefix("./").partition("/")
                row = row_of(top if slash else ".", rest if slash else top, b"")
                stream = tar.extractfile(member) if member.isfile() and member.size <= largest_of(member.name) else None
                if row.problem is not None:
                    yield row
                elif stream is None:
                    yield refused(row, "too large" if member.isfile() else "a link, or no regular file")
                else:
                    yield row._replace(content=stream.read())


def _repositories(directory: Path) -> Iterator[Row]:
    """Yield the files that `gradlint check --isolated` finds in each directory of one, and beside them."""
    for entry in sorted(directory.iterdir()):
        if not entry.is_dir() and not is_python(entry.name):
            continue
        if entry.is_symlink():
            yield refused(row_of(".", entry.name, b""), "a link, which is not followed")
            continue
        discovery = Discovery(Configs(Config()), force_exclude=True)
        repository, root = (entry.name, entry) if entry.is_dir() else (".", directory)
        for found in discovery.files([str(entry)]):
            path = str(found.path.relative_to(root.absolute()))
            content = found.problem or read_bytes(found.path, largest_of(found.name))
            if isinstance(content, Unusable):
                yield refused(row_of(repository, path, b""), content.message)
            else:
                yield row_of(repository, path, content)
        for link in discovery.links:
            path = os.path.relpath(link, root)
            yield refused(row_of(repository, path, b""), "a link that leads out of its directory")


def _packages(names: Path) -> Iterator[Row]:
    """Yield the files of the wheels of packages; a source distribution is not downloaded, as pip would run its code."""
    for line in names.read_text(encoding="utf-8", errors="replace").splitlines():
        name = line.partition("#")[0].strip()
        if name:
            with tempfile.TemporaryDirectory(prefix="gradlint-") as folder:
                try:
                    yield from _wheel(name, _download(name, folder))
                except _RefusedError as error:
                    yield Row(name, "", None, str(error))
                except _BROKEN as error:
                    yield Row(name, "", None, f"the wheel cannot be read: {error}")


def _wheel(name: str, wheel: Path) -> Iterator[Row]:
    with zipfile.ZipFile(wheel) as zipped:
        for member in zipped.infolist():
            if is_python(member.filename) and not member.is_dir():
                is_read = member.file_size <= largest_of(member.filename)
                row = row_of(name, member.filename, zipped.read(member) if is_read else b"")
                yield row if is_read else refused(row, "too large")


def _download(name: str, folder: str) -> Path:
    if not _REQUIREMENT.fullmatch(name):
        raise _RefusedError("it is neither the name of a package nor NAME==VERSION")
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-input"]
    done = subprocess.run(
        [*command, "--no-deps", "--only-binary=:all:", "--dest", folder, name], capture_output=True, text=True
    )
    wheels = sorted(Path(folder).glob("*.whl"))
    if done.returncode or not wheels:
        said = done.stderr.strip().rpartition("\n")[2].removeprefix("ERROR: ")
        raise _RefusedError(f"no wheel was downloaded: {said}")
    return wheels[0]
