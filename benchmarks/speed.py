"""How long `gradlint check` takes, against a bare parse, ruff, and flake8 with torchfix, in one run.

    python benchmarks/speed.py [--torchfix PYTHON] [--rounds N] [FOLDER]

Without a folder torch's own `nn`, `optim`, and `distributions` are checked. Each program is run in a process of its
own, and the median of several rounds counts, with the spread; what Python takes to start is part of it.

- cold, one process, without a cache, in CPU time: at most 3 times the bare parse of the files that mention torch, and
  at least 5 times faster than torchfix;
- two processes on two processors, by the clock on the wall: at least 1.8 times faster than one, with the same output;
- warm, by the clock on the wall: at most twice ruff's cold run, with the same output;
- one file changed, warm: the time only, as it depends on the file.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 5
PARTS = ("nn", "optim", "distributions")

CHECK = (sys.executable, "-m", "gradlint", "check", "--isolated", "--quiet", "--exit-zero")
RUFF = (sys.executable, "-m", "ruff", "check", "--isolated", "--quiet", "--exit-zero", "--no-cache", ".")
FLAKE8 = ("-m", "flake8", "--isolated", "--jobs=1", "--select=TOR", "--exit-zero", ".")
"""One process; flake8's own checks are off."""
PARSE = """
import pathlib, sys
import libcst
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    content = path.read_bytes()
    if b"torch" in content:
        libcst.parse_module(content)
"""


class Round(NamedTuple):
    """One run of a program: seconds of the processor and on the wall, and what it printed."""

    cpu: float
    wall: float
    output: bytes


class Measured(NamedTuple):
    """All runs of a program."""

    rounds: tuple[Round, ...]

    @property
    def cpu(self) -> float:
        """Return the median of the processor's time."""
        return median(one.cpu for one in self.rounds)

    @property
    def wall(self) -> float:
        """Return the median by the clock on the wall."""
        return median(one.wall for one in self.rounds)

    @property
    def output(self) -> bytes:
        """Return what it printed; it has to be the same in each round."""
        (output,) = {one.output for one in self.rounds}
        return output

    def __str__(self) -> str:
        """Show medians with the spread."""
        cpu, wall = sorted(one.cpu for one in self.rounds), sorted(one.wall for one in self.rounds)
        return (
            f"{self.cpu:7.2f} s of CPU time ({cpu[0]:.2f} to {cpu[-1]:.2f}), "
            f"{self.wall:7.2f} s on the wall ({wall[0]:.2f} to {wall[-1]:.2f})"
        )


def main() -> int:
    """Print the ratios; 1 if gradlint misses an aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="the tree to check")
    parser.add_argument("--torchfix", metavar="PYTHON", help="a Python that has flake8 and torchfix")
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="how often each program is run")
    options = parser.parse_args()
    with tree(options.folder) as folder, tempfile.TemporaryDirectory() as cache:

        def show(name: str, *command: str) -> Measured:
            measured = Measured(tuple(run(command, folder) for _ in range(options.rounds)))
            print(f"{name:21}{measured}", flush=True)
            return measured

        kept = (*CHECK, f"--cache-dir={cache}", ".")
        one = show("gradlint, one process", *CHECK, "--no-cache", "--jobs=1", ".")
        two = show("gradlint, two", *CHECK, "--no-cache", "--jobs=2", ".")
        run(kept, folder)
        warm = show("gradlint, warm", *kept)
        changed = _changed(folder, kept)
        print(f"one file changed     {changed.cpu:7.2f} s of CPU time, {changed.wall:7.2f} s on the wall", flush=True)
        parse = show("bare parse", sys.executable, "-c", PARSE, ".")
        ruff = show("ruff, cold", *RUFF)
        aims = [
            ("cold: times as long as the bare parse", one.cpu / parse.cpu, "at most", 3),
            ("two processes: times as fast as one", one.wall / two.wall, "at least", 1.8),
            ("warm: times as long as ruff, cold", warm.wall / ruff.wall, "at most", 2),
        ]
        if options.torchfix is None:
            print("torchfix             not measured: name a Python that has it with --torchfix")
        else:
            torchfix = show("flake8 with torchfix", options.torchfix, *FLAKE8)
            aims.append(("cold: times as fast as torchfix", torchfix.cpu / one.cpu, "at least", 5))
    met = [ratio <= aim if word == "at most" else ratio >= aim for _, ratio, word, aim in aims]
    for (what, ratio, word, aim), good in zip(aims, met, strict=True):
        print(f"{what}: {ratio:.2f}; aim: {word} {aim}{'' if good else ', MISSED'}")
    same = one.output == two.output == warm.output
    print(f"findings: {'the same' if same else 'NOT THE SAME'} with one process, two, and warm")
    return 0 if all(met) and same else 1


def _changed(folder: Path, command: Sequence[str]) -> Round:
    """Run a command while one file has a row more."""
    path = max(folder.rglob("*.py"), key=lambda one: one.stat().st_size)
    content = path.read_bytes()
    path.write_bytes(content + b"\n")
    try:
        return run(command, folder)
    finally:
        path.write_bytes(content)


def run(command: Sequence[str], folder: Path) -> Round:
    """Run a program in a folder; its children's time counts, too."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.PIPE, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command[:4])} ended with {result.returncode}")
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    return Round(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime, wall, result.stdout)


@contextmanager
def tree(folder: Path | None) -> Iterator[Path]:
    """The folder given, or a copy of parts of torch, which site-packages would keep from being found."""
    if folder is not None:
        yield folder.resolve()
        return
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        raise SystemExit("name a folder, or install torch")
    with tempfile.TemporaryDirectory() as copy:
        for part in PARTS:
            shutil.copytree(Path(found.origin).parent / part, Path(copy) / part)
        yield Path(copy)


if __name__ == "__main__":
    sys.exit(main())
