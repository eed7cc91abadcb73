"""The mutants of all scripts: at most five of each script, spread evenly over the operators by a fixed hash."""

from __future__ import annotations

import csv
import hashlib
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import libcst as cst

from .operators import OPERATORS, Operator
from .script import Script

LIST = Path(__file__).parent / "scripts.tsv"
MOST = 5
DEEP = 5_000


class Entry(NamedTuple):
    """A line of the list of scripts."""

    repository: str
    commit: str
    path: str
    style: str
    half: str

    def tree(self, folder: Path) -> Path:
        """Where the repository's files were unpacked."""
        return folder / self.repository.replace("/", "+")


class Mutant(NamedTuple):
    """A script with one mistake."""

    entry: Entry
    operator: Operator
    row: int
    text: str

    @property
    def name(self) -> str:
        """The place and the mistake."""
        return f"{self.entry.repository}/{self.entry.path}:{self.row} {self.operator.name}"


def entries() -> list[Entry]:
    """The list of scripts."""
    with LIST.open(encoding="utf-8", newline="") as file:
        return [Entry(*row) for row in list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))[1:]]


def chosen(folder: Path, scripts: Iterable[Entry]) -> Iterator[Mutant]:
    """The mutants of the scripts; of the operators that apply to a script, those that its half has least come first."""
    sys.setrecursionlimit(DEEP)
    used: Counter[tuple[str, str]] = Counter()
    for entry in sorted(scripts, key=lambda entry: _hash(entry.repository, entry.path)):
        script = Script((entry.tree(folder) / entry.path).read_text(encoding="utf-8-sig"))
        made = 0
        for operator in sorted(OPERATORS, key=lambda one: (used[entry.half, one.name], _hash(entry.path, one.name))):
            mutant = _mutant(entry, script, operator) if made < MOST else None
            if mutant is not None:
                made += 1
                used[entry.half, operator.name] += 1
                yield mutant


def _mutant(entry: Entry, script: Script, operator: Operator) -> Mutant | None:
    """One of the changes that an operator can make, by the hash of its place."""
    changes = enumerate(operator.changes(script))
    for _index, change in sorted(changes, key=lambda one: _hash(entry.path, operator.name, str(one[0]))):
        module = script.module.deep_replace(change.old, change.new)
        assert isinstance(module, cst.Module)
        code = module.code
        if code != script.text and _compiles(code):
            return Mutant(entry, operator, script.row(change.at), code)
    return None


def _compiles(code: str) -> bool:
    try:
        compile(code, "mutant", "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def _hash(*words: str) -> str:
    return hashlib.sha1("\0".join(words).encode()).hexdigest()
