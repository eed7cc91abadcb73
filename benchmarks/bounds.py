"""What inputs that were made to hurt cost: processor time and memory of a check, each in a process of its own.

    python -m benchmarks.bounds [NAME ...]

Each row is an input that once took minutes or gigabytes, or ended in an internal error, with its bar. An input that is
refused in one line is within it. Exit code 1: a row is over its bar, or ended in an error.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TORCH = "import torch\nfrom torch import nn\n"
LEAF = "w = torch.ones(3, requires_grad=True)\n"
_LONGEST = 120
_NUMBER_OF_STARS = 1_200
_ERRORS = ("internal error", "Traceback (most recent call last)")


@dataclass(frozen=True)
class Bar:
    """What a check may take."""

    seconds: float
    megabytes: float


SMALL = Bar(2, 300)
BIG = Bar(10, 600)


@dataclass(frozen=True)
class Row:
    """An input: what makes a tree of it, and the arguments of the check."""

    name: str
    make: Callable[[Path], None]
    bar: Bar = SMALL
    arguments: tuple[str, ...] = ("a.py",)
    piped: bytes | None = None


def program(name: str, text: str, bar: Bar = SMALL, *arguments: str) -> Row:
    """Return the row of one file."""
    return Row(name, lambda folder: _write(folder / "a.py", TORCH + text), bar, ("a.py", *arguments))


def _write(path: Path, content: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)


def nested(levels: int, header: str, body: str) -> str:
    """Return blocks within blocks; the header may name its level."""
    rows = [" " * level + header.format(level) for level in range(levels)]
    return "\n".join([*rows, " " * levels + body]) + "\n"


def diamonds(rungs: int) -> str:
    """Return classes each of which has two bases, which have one."""
    rows = ["class A0: pass"]
    for number in range(rungs):
        rows += [f"class B{number}(A{number}): pass", f"class C{number}(A{number}): pass"]
        rows += [f"class A{number + 1}(B{number}, C{number}): pass"]
    return "\n".join(rows) + "\n"


def _sparse(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        _write(folder / "b.py", TORCH)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        with (folder / name).open("wb") as file:
            file.truncate(15 << 30)

    return make


def _fifo(name: str) -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        _write(folder / "b.py", TORCH)
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        os.mkfifo(folder / name)

    return make


def _stars(folder: Path) -> None:
    """Files that import all names of one another, in circles of many lengths."""
    for number in range(_NUMBER_OF_STARS):
        others = [(number * step + step) % _NUMBER_OF_STARS for step in (1, 2, 3, 5, 7)]
        imports = "".join(f"from m{other} import *\n" for other in others)
        _write(folder / f"m{number}.py", f"import torch\n{imports}y = torch.relu(missing{number}(a, b, c))\n")


def _one_of_stars(folder: Path) -> None:
    _stars(folder)
    _write(folder / "a.py", "import torch\nfrom m1 import *\nfrom m2 import *\ny = torch.relu(missing(a, b, c))\n")


def _configured(text: str, name: str = "pyproject.toml") -> Callable[[Path], None]:
    def make(folder: Path) -> None:
        _write(folder / "a.py", TORCH)
        _write(folder / name, text)

    return make


def _patterns(folder: Path) -> None:
    _write(folder / f"{'a' * 60}.py", TORCH)
    _write(folder / ".gitignore", "a*" * 16 + "b\n")


def _ignores(number: int) -> str:
    patterns = "".join(f"'folder{one}/*' = ['GRD1']\n" for one in range(number))
    return f"[tool.gradlint.per-file-ignores]\n{patterns}"


def _notebook(sources: list[str]) -> Callable[[Path], None]:
    cell: dict[str, object] = {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None}
    cells = [{**cell, "source": source.splitlines(keepends=True)} for source in sources]

    def make(folder: Path) -> None:
        _write(folder / "a.ipynb", json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))

    return make


def rows() -> Iterable[Row]:
    """Yield what is measured."""
    yield program("a format of 2 GB", 'w = "%2000000000d" % 1\nv = "{:2000000000}".format(1)\n')
    yield program("a list doubled 30 times", "s = [1]\n" + "s = s + s\n" * 30)
    yield program("a list extended by itself 30 times", "s = [1]\n" + "s.extend(s)\n" * 30)
    yield program("an integer squared 60 times", "n = 9\n" + "n = n * n\n" * 60)
    yield program(
        "a module in itself 60 times", "m = nn.ReLU()\n" + "m = nn.Sequential(m, m)\n" * 60 + "m(torch.ones(3))\n"
    )
    copied = "import copy\nm = nn.Linear(3, 3)\n" + "m = nn.Sequential(m, copy.deepcopy(m))\n" * 40
    yield program("a module copied 40 times", copied)
    yield program("a list of lists, 50 deep", "s = torch.ones(3)\n" + "s = [s, s]\n" * 50 + "t = torch.tensor(s)\n")
    yield program("tuples compared, 60 deep", "s = 1\n" + "s = (s, s)\n" * 60 + "t = s == s\n")
    chain = "class A0: pass\n" + "".join(f"class A{one + 1}(A{one}): pass\n" for one in range(1_600))
    yield program("1,600 classes in a chain", chain)
    yield program("700 diamonds of classes", diamonds(700))
    bases = "".join(f"class A{one}: pass\n" for one in range(1_000))
    yield program("1,000 bases", f"{bases}class B({', '.join(f'A{one}' for one in range(1_000))}): pass\n")
    grown = LEAF + "x = w\n" + "x = x * x + x\n" * 3_000 + "x.sum().backward()\nx.sum().backward()\n"
    yield program("x = x * x + x, 3,000 times", grown)
    yield program("w += 1, 6,500 times", LEAF + "w += 1\n" * 6_500)
    yield program("fourteen nested loops", LEAF + "x = w\n" + nested(14, "for i{} in range(n):", "x = x * 2 + w"))
    yield program(
        "1,250 functions that call each other", "".join(f"def f{one}(): f{one + 1}()\n" for one in range(1_250))
    )
    for begin, end in (("(", ")"), ("(", ",)"), ("[", "]"), ("{1: ", "}"), ("A(b=", ")")):
        deep = f"match y:\n    case {begin * 40}x{end * 40}: pass\n"
        yield program(f"a pattern of 40 times {begin}{end}", deep)
    yield program("100,000 brackets", "x = " + "(" * 100_000 + ")" * 100_000 + "\n")
    yield program("50,000 signs", "x = " + "-" * 50_000 + "1\n")
    yield program("a million rows", "x = 1\n" * 1_000_000, BIG)
    yield program("60,000 rows, which are read", "x = 1\n" * 60_000, BIG)
    yield program("a list of 50,000", "x = [" + "1, " * 50_000 + "]\n", BIG)
    yield program("a dict of 50,000", "x = {" + "".join(f"'k{one}': {one}, " for one in range(50_000)) + "}\n", BIG)
    yield program("3,000 fixes", LEAF + "w += 1\n" * 3_000, BIG, "--fix", "--unsafe-fixes")
    for what, row in (("rows", b"x = 1\n"), ("strings", b"x = '" + b"a" * 990 + b"'\n")):
        text = TORCH.encode() + row * (5_000_000 // len(row))
        yield Row(f"5 MB of {what} on standard input", lambda folder: None, BIG, ("-",), text)
    yield Row("1,200 files of stars, one checked", _one_of_stars, BIG, ("a.py",))
    yield Row("1,200 files of stars, ten checked", _stars, BIG, tuple(f"m{one}.py" for one in range(1, 11)))
    for name in ("x.py", ".gitignore", ".git/info/exclude", "pyproject.toml"):
        yield Row(f"15 GB of {name}", _sparse(name), SMALL, (".",))
        yield Row(f"a FIFO as {name}", _fifo(name), SMALL, (".",))
    yield Row("100,000 arrays in TOML", _configured("x = " + "[" * 100_000))
    yield Row("a key of 100,000 parts in TOML", _configured("a." * 100_000 + "b = 1"))
    out = "w = torch.randn(3, 4, requires_grad=True)\ny = torch.empty(2, 4)\n"
    yield program("2,000 fixes that are statements", out + "torch.mm(torch.randn(2, 3), w, out=y)\n" * 2_000, BIG)
    yield Row("a pattern of 16 stars", _patterns, SMALL, (".",))
    for name, pattern in (("20,000 stars", "*a" * 20_000 + "b"), ("3,000 folders", "**/" * 3_000 + "x")):
        yield Row(f"a pattern of {name}", _configured(f"[tool.gradlint]\nextend-exclude = ['{pattern}']\n"))
    yield Row("2,000 patterns of ignored files", _configured(_ignores(2_000)))
    yield Row("a notebook of 3,000 cells", _notebook([f"{TORCH}{LEAF}w += 1\n"] * 3_000), BIG, ("a.ipynb",))
    fixed = (f"{TORCH}{LEAF}w += 1\n" + "x = 1\n" * 6_000, "--fix", "--unsafe-fixes")
    yield Row("a fix in a cell of 6,000 equal rows", _notebook([fixed[0]]), BIG, ("a.ipynb", *fixed[1:]))
    for name, source in (
        ("a row of 100,000 blanks", f"{TORCH}%time x\na{' ' * 100_000}b\n"),
        ("4,000 commands that open a bracket", TORCH + "!echo (\n" * 4_000),
        ("20,000 words of its own", TORCH + "".join(f"# gradlint_row_{one}\n" for one in range(20_000))),
    ):
        yield Row(f"a notebook with {name}", _notebook([source]), SMALL, ("a.ipynb",))
    yield Row(
        "2 MB of punycode", lambda folder: _write(folder / "a.py", b"# coding: punycode\n# torch-" + b"a9" * 1_000_000)
    )


def measure(row: Row) -> tuple[float, float, int, str]:
    """Return seconds of the processor, megabytes, the exit code, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        row.make(Path(folder))
        command = [sys.executable, "-m", "gradlint", "check", "-q", "--no-cache", *row.arguments]
        environment = {"PYTHONPATH": str(ROOT), "PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1"}
        with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as piped:
            piped.write(row.piped or b"")
            piped.seek(0)
            child = subprocess.Popen(
                command, cwd=folder, env=environment, stdin=piped, stdout=out, stderr=out, preexec_fn=_limit
            )
            _, status, used = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            said = out.read().decode(errors="replace").rstrip()
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, child.returncode, said


def _limit() -> None:
    """Let no row take the machine down."""
    resource.setrlimit(resource.RLIMIT_CPU, (_LONGEST, _LONGEST))
    resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))


def main(wanted: list[str]) -> int:
    """Print the table."""
    over = 0
    print(f"{'':42} {'CPU s':>7} {'bar':>4} {'MB':>6} {'bar':>4}  exit")
    for row in rows():
        if wanted and not any(word in row.name for word in wanted):
            continue
        seconds, megabytes, code, said = measure(row)
        bad = seconds > row.bar.seconds or megabytes > row.bar.megabytes or code < 0
        bad = bad or any(words in said for words in _ERRORS)
        over += bad
        said = said.rpartition("\n")[2]
        mark = "OVER" if bad else ""
        figures = f"{seconds:7.2f} {row.bar.seconds:4g} {megabytes:6.0f} {row.bar.megabytes:4g} {code:5}"
        print(
            f"{row.name:42} {figures} {mark:4} {said[:70] if bad or code == 2 or 'GRD00' in said else ''}", flush=True
        )
    print(f"{over} over their bars")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
