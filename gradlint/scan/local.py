"""The engine of one machine: the corpus is staged by shard, and each shard is checked by a pool of processes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa

from gradlint.checker import Progress
from gradlint.scan.results import read
from gradlint.scan.rows import Row, stage, staged
from gradlint.scan.shard import Done, Scan, scan_shard


def scan_here(scan: Scan, rows: Iterable[Row], shards: int, staging: Path, progress: Progress) -> Iterator[Done]:
    """Check all rows, and yield what became of each shard that has any."""
    total, done = stage(rows, staging, shards), 0
    for shard in range(shards):
        files = list(staged(staging, shard))
        if files:
            one = scan_shard(scan, shard, pa.concat_tables(map(read, files)), partial(_told, progress, done, total))
            done += one.files
            yield one


def _told(progress: Progress, done: int, total: int, now: int, _: int) -> None:
    progress(done + now, total)
