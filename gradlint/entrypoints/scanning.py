"""The run of `gradlint scan`: choose the engine, follow its progress, count and print what there is."""

from __future__ import annotations

import os
import shutil
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click

from gradlint import __version__
from gradlint.entrypoints.problem import Problem, complain
from gradlint.entrypoints.progress import ProgressBar
from gradlint.scan.local import scan_here
from gradlint.scan.results import Output
from gradlint.scan.rows import Columns
from gradlint.scan.shard import Done, Scan
from gradlint.scan.sources import files_of, rows_of

if sys.platform != "win32":
    import fcntl

_SHOWN = 20
"""So many lines say what could not be used; all of it stands in the results."""


class Options(NamedTuple):
    """The options of the command line, as click hands them over."""

    source: str
    output: Path
    engine: str
    ray_address: str | None
    repository_column: str
    path_column: str
    content_column: str
    shards: int
    jobs: int
    file_seconds: float
    file_memory: int
    retry: bool
    quiet: bool


class _Pace:
    """How fast a scan is."""

    def __init__(self) -> None:
        self.done: list[Done] = []
        self._begun = time.monotonic()

    def __call__(self, files: int) -> str:
        """Say it of so many files, for the progress bar."""
        cpu = self.cpu_seconds
        return f", {files / self.seconds:,.0f}/s" + (f", {self.checked / cpu:,.0f}/CPU s" if cpu else "")

    @property
    def seconds(self) -> float:
        """How long it has taken."""
        return time.monotonic() - self._begun

    @property
    def checked(self) -> int:
        """How many files were checked."""
        return sum(one.checked for one in self.done)

    @property
    def cpu_seconds(self) -> float:
        """How much of the processors' time that has taken."""
        return sum(one.cpu_seconds for one in self.done)


def run(options: Options) -> int:
    """Scan, print, and give the exit code."""
    files_of(options.source)
    output = Output(options.output.absolute())
    output.begin(os.path.abspath(options.source), options.shards)
    pace = _Pace()
    bar = ProgressBar(sys.stderr, silent=options.quiet, rates=pace)
    with _staging(output.folder) as staging:
        try:
            pace.done.extend(_finished(options, output, staging, bar))
        finally:
            bar.clear()
        output.drop_others(one.shard for one in pace.done)
        counts = output.count()
    statuses = output.statuses()
    _complain(output, statuses.get("refused", 0))
    for line in () if options.quiet else _summary(counts.to_pylist(), statuses, pace):
        click.echo(line)
    return 2 if statuses.get("refused") else 0


def _finished(options: Options, output: Output, staging: Path, bar: ProgressBar) -> Iterator[Done]:
    """Yield what became of each shard."""
    columns = Columns(options.repository_column, options.path_column, options.content_column)
    local = options.engine == "local"
    job = Scan(
        output.folder,
        __version__,
        options.jobs if local else 1,
        options.file_seconds,
        options.file_memory << 20,
        options.retry,
    )
    if local:
        return scan_here(job, rows_of(options.source, columns), options.shards, staging, bar)

    from gradlint.scan.on_ray import scan_on_ray

    return scan_on_ray(job, options.source, columns, options.shards, staging, options.ray_address)


@contextmanager
def _staging(output: Path) -> Iterator[Path]:
    """Yield an empty directory for the corpus on its way; what a killed run has left is deleted.

    Raises:
        Problem: another scan writes to this output.
    """
    with open(output / ".lock", "a+b") as lock:
        if sys.platform != "win32":
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise Problem(f"another scan writes to {output}") from None
        for left in output.glob("**/.tmp-*"):
            left.unlink()
        staging = output / ".staging"
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir()
        try:
            yield staging
        finally:
            shutil.rmtree(staging, ignore_errors=True)


def _complain(output: Output, refused: int) -> None:
    """Say what of the source could not be used."""
    for row in output.refused(_SHOWN):
        place = "/".join(filter(None, (row["repository"], row["path"])))
        complain(f"error: {place}: {row['reason']}")
    if refused > _SHOWN:
        complain(f"error: {refused - _SHOWN:,} more could not be used: the rows of files/ with the status `refused`")


def _summary(counts: Sequence[dict[str, Any]], statuses: dict[str, int], pace: _Pace) -> Iterator[str]:
    """Yield how many findings there are of each rule, how many files with each status, and how long it took."""
    by_rule: Counter[str] = Counter()
    for row in counts:
        by_rule[row["code"]] += row["findings"]
    for code, number in by_rule.most_common():
        yield f"{number:>10,} {code}"
    repositories = len({row["repository"] for row in counts})
    where = f"{repositories:,} {'repository' if repositories == 1 else 'repositories'}"
    yield f"{by_rule.total():,} findings in {where}."
    number = sum(statuses.values())
    parts = ", ".join(f"{statuses[one]:,} {one}" for one in sorted(statuses))
    yield f"{number:,} files{parts and f': {parts}'}."
    checked, seconds, cpu = pace.checked, pace.seconds, pace.cpu_seconds
    rates = f": {checked / seconds:,.1f} a second, {checked / cpu:,.1f} a CPU second" if checked and cpu else ""
    yield f"{checked:,} files were checked in this run, in {seconds:,.1f} s{rates}."
