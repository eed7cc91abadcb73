"""A harmless program with holes: what is not known is made up when it runs."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from gradlint.confirm.prepare.kinds import INSTANCE, NAMESPACE
from gradlint.confirm.prepare.syntax import is_script

_HOLE = re.compile(r"\bmade_up_(\d+)\b")


@dataclass
class Hole:
    """A value to make up: what stands for it in the program, what it may be, and what to try first; `known` is all."""

    number: int
    text: str
    kinds: tuple[str, ...]
    first: tuple[str, ...] = ()
    known: bool = False

    @property
    def name(self) -> str:
        """The name that stands in the program where the value goes."""
        return f"made_up_{self.number}"


@dataclass
class Sketch:
    """A harmless program with holes: its imports come first, then the variables that are made up, then the rest."""

    body: list[ast.stmt]
    holes: list[Hole] = field(default_factory=list)
    dropped: int = 0
    removed: int = 0
    """How many calls of something that is not known were removed beside what was dropped."""
    _head: int = 0
    _new: list[ast.stmt] = field(default_factory=list)

    def hole(self, text: str, kinds: Sequence[str], first: Iterable[str] = ()) -> Hole:
        """Return a new hole."""
        known = tuple(kind for kind in kinds if kind not in (NAMESPACE, INSTANCE)) or ("tensor", "float", "int")
        hole = Hole(len(self.holes), text, known, tuple(first))
        self.holes.append(hole)
        return hole

    def imports(self, kept: Sequence[ast.stmt]) -> None:
        """Put the imports at the top."""
        self.body[:0] = kept
        self._head += len(kept)

    def needs(self, kept: ast.stmt) -> None:
        """Add an import that what is made up needs."""
        if ast.unparse(kept) not in {ast.unparse(one) for one in self.body[: self._head]}:
            self._new.insert(0, kept)

    def variable(self, name: str, hole: Hole) -> None:
        """Add a variable of the module that holds a made-up value."""
        self._new.append(statement(f"{name} = {hole.name}"))

    @property
    def is_exact(self) -> bool:
        """Whether nothing of the program is made up or dropped."""
        return not self.dropped and are_known(self.holes, ast.unparse(ast.Module(self.body, [])))

    @property
    def is_whole_script(self) -> bool:
        """Whether the program does something when it is run, and all of it stands here as its user would run it."""
        return self.is_exact and not self.removed and is_script(self.body)

    def settle(self) -> None:
        """Put new variables in their place: no visitor may be under way in the body."""
        self.body[self._head : self._head] = self._new
        self._head += len(self._new)
        self._new.clear()


def statement(text: str) -> ast.stmt:
    """Return a statement of ours, which comes from no row of the file."""
    made = ast.parse(text).body[0]
    for node in ast.walk(made):
        if isinstance(node, (ast.stmt, ast.expr)):
            node.lineno = node.end_lineno = 0
    return made


def holes_in(text: str) -> list[int]:
    """Return the numbers of the holes that a text names."""
    return [int(number) for number in _HOLE.findall(text)]


def are_known(holes: Sequence[Hole], text: str) -> bool:
    """Return whether the value of each hole that a text names stands in the program itself."""
    return all(holes[number].known for number in holes_in(text))


def fill(text: str, values: Sequence[str]) -> str:
    """Return the text with its holes filled; what fills one may have holes with higher numbers."""
    while _HOLE.search(text):
        text = _HOLE.sub(lambda found: values[int(found.group(1))], text)
    return text
