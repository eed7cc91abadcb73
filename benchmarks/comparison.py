"""What other tools say of the forum posts of `tests/posts`, at the lines that are marked there.

    python -m benchmarks.comparison [--torchfix PYTHON] [--pyright PYTHON]

The posts are programs with a defect that torch has judged: it raises, or the post shows what goes wrong silently. Each
program counts once. A tool finds the defect if it reports anything on a marked line, whatever it says: that is
generous. Torch and its anomaly mode find it if a marked line stands in the traceback or in the warning that they print.
TorchFix needs an environment of its own with flake8; pyright one with torch beside it. gradlint itself is left out: its
tests hold it to these marks, so that its figure would say nothing.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from gradlint.rules.registry import all_rules
from tests.harness.markdown import blocks_under

POSTS = Path(__file__).resolve().parents[1] / "tests" / "posts"
HARMFUL = frozenset(rule.code for rule in all_rules() if rule.effect in ("raises", "silent", "leak"))
RUFF = (
    *("-m", "ruff", "check", "--isolated", "--no-cache", "--exit-zero", "--output-format=json", "--quiet"),
    "--select=F,E9,B,PLE,PLW,RUF,NPY,A,ASYNC",
)
"""ruff's families about mistakes; those about style say something of nearly every line."""

RUN = """
import os, signal, sys, traceback
import torch

folder, mode, *names = sys.argv[1:]
torch.set_num_threads(1)
for name in names:
    print(f"== {name}", file=sys.stderr, flush=True)
    if os.fork() == 0:
        os.chdir(folder)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        signal.alarm(30)
        torch.autograd.set_detect_anomaly(mode == "anomaly")
        try:
            exec(compile(open(name).read(), "post.py", "exec"), {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
        sys.stderr.flush()
        os._exit(0)
    os.wait()
"""
"""Torch is imported once, and each program runs in a child."""

Found = set[tuple[str, int]]


class Post(NamedTuple):
    """A program with a defect: the lines of it, and whether torch raises."""

    name: str
    code: str
    lines: frozenset[int]
    raises: bool


def posts() -> list[Post]:
    """Return the programs whose marks name a defect with an effect."""
    found = []
    for number, block in enumerate(blocks_under(POSTS)):
        lines = frozenset(line for line, code in block.marks.findings if code in HARMFUL)
        if lines and not block.is_known_gap:
            found.append(Post(f"post_{number:03}.py", block.code, lines, block.marks.raises is not None))
    return found


def main() -> int:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--torchfix", metavar="PYTHON", help="a Python that has flake8 and torchfix")
    parser.add_argument("--pyright", metavar="PYTHON", help="a Python that has pyright and torch")
    options = parser.parse_args()
    programs = posts()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for post in programs:
            (folder / post.name).write_text(post.code, encoding="utf-8")
        tools: dict[str, Callable[[], Found]] = {
            "ruff": lambda: ruff(folder),
            "torch": lambda: executed(folder, programs, "plain"),
            "torch, anomaly mode": lambda: executed(folder, programs, "anomaly"),
        }
        if options.torchfix:
            tools["TorchFix"] = lambda: torchfix(folder, options.torchfix)
        if options.pyright:
            tools["pyright"] = lambda: pyright(folder, options.pyright)
        total = Counter(post.raises for post in programs)
        print(f"{'':20} raises: of {total[True]}   silent: of {total[False]}")
        for tool, run in tools.items():
            reported = run()
            hit = Counter(post.raises for post in programs if any((post.name, line) in reported for line in post.lines))
            print(f"{tool:20} {hit[True]:13} {hit[False]:14}", flush=True)
    return 0


def ruff(folder: Path) -> Found:
    """Return where ruff reports anything but style."""
    run = subprocess.run([sys.executable, *RUFF, str(folder)], capture_output=True, text=True, check=True)
    return {(Path(one["filename"]).name, one["location"]["row"]) for one in json.loads(run.stdout)}


def torchfix(folder: Path, python: str) -> Found:
    """Return where TorchFix reports anything, deprecated names and its other rules."""
    run = subprocess.run(
        [python, "-m", "flake8", "--isolated", "--jobs=1", "--select=TOR", "--exit-zero", str(folder)],
        capture_output=True,
        text=True,
        check=True,
    )
    return {(Path(m[1]).name, int(m[2])) for m in re.finditer(r"^(.+?):(\d+):\d+: TOR", run.stdout, re.MULTILINE)}


def pyright(folder: Path, python: str) -> Found:
    """Return where pyright reports an error or a warning, in its standard mode."""
    answer = subprocess.run(
        [python, "-m", "pyright", "--outputjson", "--pythonpath", python, str(folder)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = json.loads(answer.stdout)["generalDiagnostics"]
    return {(Path(one["file"]).name, one["range"]["start"]["line"] + 1) for one in found}


def executed(folder: Path, programs: Sequence[Post], mode: str) -> Found:
    """Return the lines of the programs that torch's tracebacks and warnings name."""
    command = [sys.executable, "-c", RUN, str(folder), mode, *(post.name for post in programs)]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    parts = (part.partition("\n") for part in printed.split("== ")[1:])
    return {(name, int(line)) for name, _, said in parts for line in re.findall(r'File "post\.py", line (\d+)', said)}


if __name__ == "__main__":
    sys.exit(main())
