"""The check of one shard: its repositories are written to a temporary directory, and checked there."""

from __future__ import annotations

import errno
import os
import re
import signal
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache, partial
from hashlib import sha256
from pathlib import Path, PurePosixPath
from time import thread_time
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from gradlint.check import check_found, check_source
from gradlint.checker import Checker, Progress, Task
from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.outcome import Checked
from gradlint.plugins.installed import switched_off
from gradlint.pool import Pool
from gradlint.scan.results import FILES, FINDINGS, Output
from gradlint.settings.config import Config
from gradlint.source.discover import Found
from gradlint.source.kept import Keeping
from gradlint.source.read import mentions_torch

if sys.platform == "linux":
    import resource

OUT_OF_MEMORY = 12
"""How a process ends whose file takes more memory than it may."""

_OVERRUN = "killed by signal 27"
"""How a process ends by SIGPROF, whose file runs on after its time."""

_NAMES = (errno.ENAMETOOLONG, errno.ENOTDIR, errno.EISDIR, errno.EEXIST, errno.EINVAL, errno.EILSEQ)
"""The errors that a name is to blame for: two of which one is the directory of the other, for instance."""

_FAILED = ("late", "killed", "crashed")


class Scan(Frozen):
    """What holds for all shards: `memory` in bytes for each process, 0 for any; `retry` what has failed."""

    output: Path
    version: str
    jobs: int = 1
    seconds: float = 30.0
    memory: int = 0
    retry: bool = False
    forks: bool | None = None


class Done(NamedTuple):
    """What became of a shard: how many files it has, how many of them were checked now, and the processor's time."""

    shard: int
    files: int
    checked: int
    cpu_seconds: float


class LimitedChecker(Checker):
    """A checker that limits the memory of its process, and ends it where that was not enough.

    A file that runs on after its time, where nothing looks at the clock, ends the process as well.
    """

    def __init__(self, seconds: float, memory: int) -> None:
        super().__init__(seconds=seconds, keeping=Keeping(nowhere=True))
        self._again = partial(LimitedChecker, seconds, memory)
        self._memory = memory
        self._hard_seconds = 2 * seconds + 1 if seconds else 0

    def __reduce__(self) -> tuple[Callable[[], Checker], tuple[()]]:
        """Let another process have such a checker."""
        return self._again, ()

    def perform(self, task: Task) -> Checked:
        """Do a task. After a MemoryError the process is of no use: it is full of what it cannot finish."""
        if sys.platform == "linux" and self._memory:
            resource.setrlimit(resource.RLIMIT_DATA, (self._memory, self._memory))
            self._memory = 0
        if sys.platform != "win32":
            signal.setitimer(signal.ITIMER_PROF, self._hard_seconds)
        before = thread_time()
        checked = super().perform(task)
        if checked.crash is not None and checked.crash.summary.startswith("MemoryError"):
            os._exit(OUT_OF_MEMORY)
        return replace(checked, seconds=thread_time() - before)


class _File(NamedTuple):
    """A file of a repository: with its bytes, or the reason why it has none."""

    path: str
    content: bytes | None
    hash: str | None
    problem: str | None


def scan_shard(scan: Scan, shard: int, rows: pa.Table, progress: Progress | None = None) -> Done:
    """Check what is new or changed in a shard, and commit it together with what is there already."""
    output = Output(scan.output)
    repositories = _repositories(rows)
    hashes = {name: _hash_of(files) for name, files in repositories.items()}
    files, findings = output.read("files", shard), output.read("findings", shard)
    known = _known(scan, files)
    kept = pa.array([name for name in repositories if known.get(name) == hashes[name]], pa.string())
    new = {name: files for name, files in repositories.items() if known.get(name) != hashes[name]}
    number = sum(map(len, repositories.values()))
    if not new and known.keys() <= repositories.keys():
        return Done(shard, number, 0, 0.0)
    before = _cpu_seconds()
    made, found = _checked(scan, new, hashes, progress)
    files, findings = (table.filter(pc.is_in(table["repository"], kept)) for table in (files, findings))
    output.commit(
        shard,
        pa.concat_tables([files, pa.Table.from_pylist(made, FILES)]),
        pa.concat_tables([findings, pa.Table.from_pylist(found, FINDINGS)]),
    )
    return Done(shard, number, sum(map(len, new.values())), _cpu_seconds() - before)


def _repositories(rows: pa.Table) -> dict[str, list[_File]]:
    """Return the files of each repository, each once, in an order that does not depend on that of the rows."""
    found: dict[str, set[_File]] = {}
    for row in rows.to_pylist():
        content = row["content"]
        digest = None if content is None else sha256(content).hexdigest()
        found.setdefault(row["repository"], set()).add(_File(row["path"], content, digest, row["problem"]))
    return {name: sorted(found[name], key=_order) for name in sorted(found)}


def _order(file: _File) -> tuple[str, str, str]:
    return file.path, file.hash or "", file.problem or ""


def _hash_of(files: Iterable[_File]) -> str:
    """Return what tells the content of a repository from others."""
    known = sha256()
    for file in files:
        known.update("\0".join((*_order(file), "")).encode())
    return known.hexdigest()


def _known(scan: Scan, files: pa.Table) -> dict[str, str]:
    """Return the repositories that an earlier run has finished, with what tells their content."""
    rows = files.select(["repository", "repository_hash", "status", "version"]).to_pylist()
    known = {row["repository"]: row["repository_hash"] for row in rows}
    for row in rows:
        if row["version"] != scan.version or (scan.retry and row["status"] in _FAILED):
            known[row["repository"]] = ""
    return known


def _checked(
    scan: Scan, repositories: dict[str, list[_File]], hashes: dict[str, str], progress: Progress | None
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Check repositories; return the rows for their files, and those for the findings."""
    made: list[dict[str, Any]] = []
    found: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="gradlint-") as folder, switched_off():
        config = Config(root=Path(folder))
        placed: list[tuple[dict[str, Any], Found]] = []
        for number, (name, files) in enumerate(repositories.items()):
            about = {"repository": name, "repository_hash": hashes[name], "version": scan.version, "findings": 0}
            is_checked = any(mentions_torch(file.content) for file in files if file.content is not None)
            root = _root(Path(folder), number, name) if is_checked else None
            seen: set[PurePosixPath] = set()
            for file in files:
                row: dict[str, Any] = {**about, "path": file.path, "hash": file.hash, "status": "checked"}
                row["reason"] = file.problem or _problem(file.path, seen) or (root and _written(file, root))
                if row["reason"]:
                    row["status"] = "refused"
                elif root is not None:
                    place = root / file.path
                    placed.append((row, Found(str(place), place, config)))
                made.append(row)
        for (row, _), checked in zip(placed, _performed(scan, [found for _, found in placed], progress), strict=True):
            row |= _outcome(checked, scan)
            found += (_finding(finding, row) for finding in checked.findings)
    return made, found


def _root(folder: Path, number: int, repository: str) -> Path:
    """Make the directory of a repository, with a mark that says where the project begins."""
    root = folder / str(number) / directory_of(repository)
    (root / ".git").mkdir(parents=True)
    return root


def directory_of(repository: str) -> str:
    """Return the name of the directory of a repository: as imports may say it, if they name the repository."""
    return re.sub(r"[^\w.-]", "_", repository.rpartition("/")[2])[:60].strip(".") or "_"


def _problem(path: str, seen: set[PurePosixPath]) -> str | None:
    """Return why a file cannot have this path, if so, and remember the path."""
    pure = PurePosixPath(path)
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts:
        return "the path leads out of the repository"
    if pure in seen:
        return "another file of the repository has this path"
    seen.add(pure)
    return None


def _written(file: _File, root: Path) -> str | None:
    """Write a file; return why it cannot have its name, if so."""
    place = root / file.path
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        with open(place, "xb") as stream:
            stream.write(file.content or b"")
    except OSError as error:
        if error.errno not in _NAMES:
            raise
        return f"no file can be written under this name: {error.strerror}"
    return None


def _performed(scan: Scan, files: list[Found], progress: Progress | None) -> tuple[Checked, ...]:
    if not files:
        return ()
    if scan.forks is not False:
        _warm_up()
    checker = LimitedChecker(scan.seconds, scan.memory)
    with warnings.catch_warnings():
        # From 3.12 on, Python warns of a fork beside other threads: those of pyarrow hold nothing that a check uses.
        warnings.simplefilter("ignore", DeprecationWarning)
        pool = Pool(checker, min(scan.jobs, len(files)), forks=scan.forks)
    with pool:
        return check_found(files, checker, pool.perform, progress)


@cache
def _warm_up() -> None:
    """Load here what the first check loads, so that no forked process has to."""
    check_source("import torch\nx = torch.ones(3, requires_grad=True)\nx.sum().backward()\n", config=Config())


def _outcome(checked: Checked, scan: Scan) -> dict[str, Any]:
    """Return what a row says of how a check ended."""
    said = {"findings": len(checked.findings), "cpu_seconds": checked.seconds or None}
    crash = checked.crash
    if checked.late or (crash and crash.killed and crash.summary.endswith(_OVERRUN)):
        return {**said, "status": "late", "reason": f"more than {scan.seconds:g} s of processor time"}
    if crash is None:
        return said
    if crash.summary.endswith(f"ended with {OUT_OF_MEMORY}"):
        return {**said, "status": "killed", "reason": f"more than {scan.memory >> 20:,} MB of memory"}
    return {**said, "status": "killed" if crash.killed else "crashed", "reason": crash.summary}


def _finding(finding: Finding, row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a finding in the file of another row."""
    span = finding.span
    return {
        **{key: row[key] for key in ("repository", "path", "hash", "version")},
        "code": finding.code,
        "name": finding.name,
        "severity": finding.severity,
        "cell": span.cell,
        "line": span.start.row,
        "column": span.start.column,
        "end_line": span.end.row,
        "end_column": span.end.column,
        "message": finding.message,
        "assumptions": [assumed.text for assumed in finding.assumptions],
    }


def _cpu_seconds() -> float:
    """Return the processor's time that this process has taken, and those that it has started and that have ended."""
    return sum(os.times()[:4])
