"""The engine of a cluster: Ray Data reads, groups by shard, and checks each group in a task."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import ray.data

from gradlint.scan.rows import STAGED, Columns, Row, row_of_values, stage, table_of
from gradlint.scan.shard import Done, Scan, scan_shard
from gradlint.scan.sources import files_of, missing_columns, row_of_line, rows_of, shape_of, values_of


def scan_on_ray(
    scan: Scan, source: str, columns: Columns, shards: int, staging: Path, address: str | None
) -> Iterator[Done]:
    """Check a source, and yield what became of each shard. Parquet and JSON Lines are read by Ray itself."""
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # A Ray that is started here reports to nobody.
    ray.init(address=address, log_to_driver=False)
    try:
        rows = _dataset(source, columns, shards, staging)
        done = rows.groupby("shard", num_partitions=shards).map_groups(
            partial(_check, scan), batch_format="pyarrow", num_cpus=1
        )
        for row in done.iter_rows():
            yield Done(**row)
    finally:
        ray.shutdown()


def _dataset(source: str, columns: Columns, shards: int, staging: Path) -> Any:
    """Return the rows of a source, with their shards."""
    files = [file.absolute() for file in files_of(source)]
    shapes = {shape_of(file) for file in files}
    if shapes == {"parquet"}:
        problems = {str(file): missing_columns(file, columns) for file in files}
        usable = [file for file, problem in problems.items() if problem is None]
        refused = [Row("", file, None, problem) for file, problem in problems.items() if problem is not None]
        others = ray.data.from_arrow(table_of(refused, shards))
        if not usable:
            return others
        read = ray.data.read_parquet(usable).select_columns(list(columns))
        rows = read.map_batches(partial(_of_parquet, columns, shards, source), batch_format="pyarrow")
        return rows.union(others) if refused else rows
    if shapes == {"jsonl"}:
        # Ray's reader of JSON ends the run at the first line that is none; latin-1 leaves all bytes as they are.
        lines = ray.data.read_text([str(file) for file in files], encoding="latin-1", include_paths=True)
        return lines.map_batches(partial(_of_lines, columns, shards), batch_format="pyarrow")
    if stage(rows_of(source, columns), staging, shards):
        return ray.data.read_parquet(str(staging)).select_columns(STAGED.names)
    return ray.data.from_arrow(table_of([], shards))


def _of_parquet(columns: Columns, shards: int, source: str, batch: pa.Table) -> pa.Table:
    made = (
        row_of_values(columns, values, source, f"the row of {values[0]!r}, {values[1]!r}")
        for values in values_of(batch, columns)
    )
    return table_of((row for row in made if row is not None), shards)


def _of_lines(columns: Columns, shards: int, batch: pa.Table) -> pa.Table:
    lines = zip(batch.column("path").to_pylist(), batch.column("text").to_pylist(), strict=True)
    made = (row_of_line(text.encode("latin-1"), columns, path, f"`{text[:40]}`") for path, text in lines)
    return table_of((row for row in made if row is not None), shards)


def _check(scan: Scan, group: pa.Table) -> pa.Table:
    """Check a group in a process of Ray's, which has threads: the process that checks is started anew."""
    done = scan_shard(replace(scan, forks=False), group.column("shard")[0].as_py(), group)
    return pa.table({name: [value] for name, value in done._asdict().items()})
