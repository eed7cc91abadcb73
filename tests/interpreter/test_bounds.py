"""Small programs that would cost hours or gigabytes cost few steps and small values."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import libcst as cst
import pytest

from gradlint.check import check_paths, check_source
from gradlint.checker import Checker
from gradlint.domain import clock
from gradlint.domain.size import LARGEST, bounded, bounded_record
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Sequence, Unknown, Value
from gradlint.interpreter.interpret import interpret
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.program import CHAIN, IN_CIRCLES, Loaded, Loading
from gradlint.settings.config import Config
from gradlint.source.core import Instr
from gradlint.source.files import Unit

BEGINNING = "import copy\nimport torch\nfrom torch import nn\n"
END = "w = torch.ones(3, requires_grad=True)\nw += 1\n"
GROWING = {
    "format by %": 'w = "%2000000000d" % 1\n',
    "format with a width that is given": 'w = "%*d" % (2000000000, 1)\n',
    "format by method": 'w = "{:2000000000}".format(1)\n',
    "format with a nested width": 'w = "{:{}}".format(1, 2000000000)\n',
    "f-string": 'n = 1\nw = f"{n:2000000000}"\n',
    "lists": "s = [1]\n" + "s = s + s\n" * 30,
    "tuples": "s = (1,)\n" + "s = s + s\n" * 30,
    "texts": 's = "a"\n' + "s = s + s\n" * 40,
    "stars": "s = [1]\n" + "s = [*s, *s]\n" * 30,
    "stars in tuples": "s = (1,)\n" + "s = (*s, *s)\n" * 30,
    "extend": "x = [1]\n" + "x.extend(x)\n" * 30,
    "in place": "x = [1]\n" + "x += x\n" * 30,
    "joined": 's = "a" * 900\n' + "s = s.join([s, s, s])\n" * 30,
    "replaced": 's = "a" * 900\n' + 's = s.replace("a", s)\n' * 30,
    "filled": 'a = "a".ljust(2000000000).zfill(2000000000).center(2000000000)\nb = "\\t".expandtabs(2000000000)\n',
    "bytes": 'b = bytes(2000000000)\nc = b"a" * 2000000000\n',
    "ranges": "a = list(range(10**9))\nb = [0] * 10**9\nc = (0,) * 99\n" + "c = c * 99\n" * 20,
    "squares": "n = 9\n" + "n = n * n\n" * 60,
    "powers": "n = 10 ** 10 ** 10\nm = (7 ** 9999) ** 9999\nk = 1 << 40000000000\n",
    "dicts": "d = {i: i for i in range(9)}\n" + "d = {**d, **{(k, 1): v for k, v in d.items()}}\n" * 20,
    "tuples of tuples": "s = (1,)\n" + "s = (s, s)\n" * 60 + "t = s == s\nd = {s: 1}\n",
    "slices of slices": "s = slice(1)\n" + "s = slice(s, s)\n" * 60 + "t = [1][s] == [2][s]\n",
    "partials": "import functools\nf = print\n" + "f = functools.partial(f, f, f)\n" * 60 + "g = {f: 1}\n",
    "lists of lists": "s = torch.ones(3)\n" + "s = [s, s]\n" * 50 + "torch.tensor(s)\ntorch.stack(s)\n",
    "lists in themselves": "l = []\nl.append(l)\ntorch.stack(l)\nt = l == l\ncopy.deepcopy(l)\n",
    "deep lists": "s = torch.ones(1)\n" + "s = [s]\n" * 6_000 + "t = copy.deepcopy(s)\ntorch.tensor(s)\n",
    "networks of networks": "m = nn.Linear(1, 1)\n" + "m = nn.Sequential(m, m)\n" * 60 + "m(torch.ones(1, 1))\n",
    "copies": "m = nn.Linear(1, 1)\n" + "m = nn.Sequential(m, copy.deepcopy(m))\n" * 40,
    "chain of classes": "class A0: pass\n" + "".join(f"class A{n + 1}(A{n}): pass\n" for n in range(400)),
    "many bases": "".join(f"class A{n}: pass\n" for n in range(400))
    + f"class B({', '.join(f'A{n}' for n in range(400))}): pass\nB()\n",
    "dimensions": "x = torch.ones(6)\n" + "x = x.view(1, *x.shape)\n" * 300,
    "sizes": f"torch.ones(3).repeat(*([10**9] * 60))\ntorch.ones(10**400)\nrange(10**400)\nnn.LSTM(3, 3, {10**9})\n",
}


class Costs:
    """Watches a run: how large values become, and how much is done."""

    def __init__(self) -> None:
        self.largest = self.steps = self.worked = 0

    def before(self, machine: Machine, states: list[object], instr: Instr) -> None:
        """Count an instruction."""
        self.steps += 1

    def after(self, machine: Machine, states: list[State], instr: Instr) -> None:
        """Measure what it has left in variables."""
        self.worked = machine.worked
        for state in states:
            self.largest = max(self.largest, *(_size(value, state) for value in state.locals.values()), 0)

    def gave_up(self, what: str, node: cst.CSTNode | None) -> None:
        """Nothing is counted."""

    def announced(self, state: object, announcement: object, handlers: object) -> None:
        """Nothing is counted."""


def _size(value: Value, state: State) -> int:
    record = state.heap.get(value.id) if isinstance(value, Ref) else value
    if isinstance(record, (str, bytes, tuple)) and not hasattr(record, "_fields"):
        return len(record)
    if isinstance(record, Sequence):
        return len(record.items)
    return record.bit_length() if isinstance(record, int) else 0


@pytest.mark.parametrize("program", GROWING.values(), ids=GROWING.keys())
def test_no_value_becomes_large(program: str) -> None:
    """Nor does one instruction do more than its share."""
    costs = Costs()
    module = cst.parse_module(BEGINNING + program)
    interpret(module, observer=costs)  # type: ignore[arg-type]
    assert costs.largest <= LARGEST
    assert costs.steps <= 50_000
    assert costs.worked <= 50_000


@pytest.mark.parametrize("kind", ["format by %", "lists", "tuples of tuples", "many bases", "dimensions"])
def test_what_stands_beside_it_is_found(kind: str) -> None:
    """A value that is not followed hides nothing."""
    assert "GRD101" in {finding.code for finding in check_source(BEGINNING + GROWING[kind] + END)}


@pytest.mark.parametrize("value", ["a" * LARGEST, (1,) * (LARGEST - 1), 1 << (LARGEST - 1), ((1, 2), (3,)), b"abc"])
def test_what_is_small_stays(value: Value) -> None:
    """Up to the limit nothing changes."""
    assert bounded(value) is value


def test_what_is_large_is_known_by_its_kind() -> None:
    """Of lists the beginning is kept, too."""
    text, number = bounded("a" * (LARGEST + 1)), bounded(1 << LARGEST)
    assert isinstance(text, Unknown) and text.kind == "str"
    assert isinstance(number, Unknown) and number.kind == "int"
    assert isinstance(bounded((1,) * (LARGEST + 1)), Unknown)
    record = bounded_record(Sequence((1,) * (LARGEST + 9)))
    assert isinstance(record, Sequence) and record.open and len(record.items) == LARGEST


def test_ordinary_formats_and_sums_are_known() -> None:
    """The limits are far from what programs do."""
    program = 'x = "%d-%s" % (3, "a")\ny = "{:5d}".format(3)\nz = (1, 2) + (3,)\nn = 2 ** 100\nassert x == "3-a"\n'
    program += "assert y == '    3'\nassert z == (1, 2, 3)\nassert n == 1267650600228229401496703205376\n"
    assert "GRD101" in {finding.code for finding in check_source(BEGINNING + program + END)}


def test_programs_that_python_refuses_are_no_crash() -> None:
    """What its compiler says is reported where the interpreter fails on such a program, and nowhere else."""

    def fail(*arguments: object, **options: object) -> object:
        raise KeyError("no such instruction")

    refused, fine = "import torch\nx = *y\n", "import torch\nx = 1\n"
    failing = Checker(interpret=fail)  # type: ignore[arg-type]
    config = Config()
    (found,) = failing.check_content(refused, "a.py", config).findings
    assert (found.code, found.message, found.span.start.row) == ("GRD001", "can't use starred expression here", 2)
    crash = failing.check_content(fine, "a.py", config).crash
    assert crash is not None and "no such instruction" in crash.summary


def test_syntax_is_written_out_only_where_something_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """libcst writes as slowly as it reads: not at all without a finding; with one a statement is written three times.

    That is once to count its rows, once for the places in it, and once in the text that fixes are made to.
    """
    written: list[cst.CSTNode] = []
    plain = cst.SimpleStatementLine._codegen_impl

    def counted(self: cst.SimpleStatementLine, state: object) -> None:
        written.append(self)
        plain(self, state)  # type: ignore[arg-type]

    monkeypatch.setattr(cst.SimpleStatementLine, "_codegen_impl", counted)
    file = tmp_path / "a.py"
    file.write_text(BEGINNING + "x = torch.ones(3) + 1\n" * 50)
    assert check_paths([file], Config()).findings == ()
    assert written == []
    file.write_text(BEGINNING + END + "w += 1\n" * 50)
    assert len(check_paths([file], Config()).findings) == 51
    assert len(written) <= 3 * len(file.read_text().splitlines())


def test_the_system_is_asked_for_the_time_only_where_it_may_be_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock on the wall tells that it cannot be: of five programs, each asks once when it begins."""
    asked, now = count(), clock._now
    monkeypatch.setattr(clock, "_now", lambda: now() + 0 * next(asked))
    checker = Checker()
    for number in range(5):
        checker.check_content(BEGINNING + END * 50, f"a{number}.py", Config())
    assert next(asked) == 5


def test_files_of_a_circle_are_run_so_often(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What serves one file alone is made for so many; a chain without a circle is run once, for all that import it."""
    runs: list[str] = []
    plain = Loading._run

    def counted(self: Loading, unit: Unit) -> Loaded:
        runs.append(unit.path)
        return plain(self, unit)

    monkeypatch.setattr(Loading, "_run", counted)
    size = 3 * IN_CIRCLES
    for number in range(size):
        others = "".join(f"from m{(number + 1) * step % size} import *\n" for step in (1, 2, 3, 5, 7))
        (tmp_path / f"m{number}.py").write_text(f"import torch\n{others}y = torch.relu(missing(a))\n")
        after = f"from n{number + 1} import *\n" if number < 8 else ""
        (tmp_path / f"n{number}.py").write_text(f"import torch\n{after}y = torch.relu(missing(a))\n")
    checked = Checker()
    for number in range(1, 6):
        path = tmp_path / f"m{number}.py"
        checked.check_content(path.read_text(), str(path), Config())
    assert len(runs) <= 5 * (IN_CIRCLES + CHAIN)
    runs.clear()
    for number in range(8):
        path = tmp_path / f"n{number}.py"
        checked.check_content(path.read_text(), str(path), Config())
    assert sorted(runs) == sorted(set(runs))


def test_a_constructor_that_takes_all_steps_of_the_file() -> None:
    """Its object is not made, and so its methods are not tried a second time."""
    long = "        x = " + " + ".join("1" * 40) + "\n"
    program = f"class A:\n    def __init__(self):\n{long * 1_000}\n    def step(self, loss):\n        loss.backward()\n"
    assert check_source(BEGINNING + program) == ()
