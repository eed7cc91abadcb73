"""How much CPU time `gradlint check` takes, against a bare parse and flake8 with torchfix, in one run.

    python benchmarks/speed.py [--torchfix PYTHON] [FOLDER]

Without a folder torch's own `nn`, `optim`, and `distributions` are checked. Each program is run in a
process of its own, the fastest of several rounds counts, and what Python takes to start is part of it. The
aim: at most 3 times the bare parse of the files that mention torch, and at least 5 times faster than
torchfix on the same tree.
"""

from __future__ import annotations

import argparse
import importlib.util
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
ROUNDS = 3
PARTS = ("nn", "optim", "distributions")

CHECK = ("-m", "gradlint", "check", "--isolated", "--quiet", "--exit-zero", ".")
PARSE = """
import pathlib, sys
import libcst
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*.py")):
    content = path.read_bytes()
    if b"torch" in content:
        libcst.parse_module(content)
"""


def main() -> int:
    """Print the ratios; 1 if gradlint misses an aim."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", type=Path, help="the tree to check")
    parser.add_argument("--torchfix", metavar="PYTHON", help="a Python that has flake8 and torchfix")
    options = parser.parse_args()
    with tree(options.folder) as folder:
        gradlint = seconds([sys.executable, *CHECK], folder)
        bare = seconds([sys.executable, "-c", PARSE, "."], folder)
        print(f"gradlint check  {gradlint:6.2f} s of CPU time")
        print(f"bare parse      {bare:6.2f} s: gradlint takes {gradlint / bare:.2f} times as long; aim: 3")
        met = gradlint <= 3 * bare
        if options.torchfix is None:
            print("torchfix        not measured: name a Python that has it with --torchfix")
            return 0 if met else 1
        # One process, as gradlint has; flake8's own checks are off.
        flake8 = [
            options.torchfix,
            "-m",
            "flake8",
            "--isolated",
            "--jobs=1",
            "--select=TOR",
            "--exit-zero",
            ".",
        ]
        torchfix = seconds(flake8, folder)
        print(f"torchfix        {torchfix:6.2f} s: gradlint is {torchfix / gradlint:.2f} times as fast; aim: 5")
    return 0 if met and torchfix >= 5 * gradlint else 1


def seconds(command: list[str], folder: Path) -> float:
    """CPU time of the fastest round, user and system, of the process and its children."""
    return min(_round(command, folder) for _ in range(ROUNDS))


def _round(command: list[str], folder: Path) -> float:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {"PYTHONPATH": str(ROOT), "PATH": "/usr/bin:/bin", "OMP_NUM_THREADS": "1"}
    result = subprocess.run(command, cwd=folder, env=environment, stdout=subprocess.DEVNULL, check=False)
    if result.returncode != 0:
        raise SystemExit(f"{' '.join(command[:4])} ended with {result.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


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
