"""Findings: what gradlint says about a file, and where."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal, NamedTuple, TypeAlias, get_args

from gradlint.domain.assumption import AssumptionKind
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.run import Observed

Severity = Literal["error", "warning", "info"]
SEVERITIES: tuple[Severity, ...] = get_args(Severity)
"""From the highest to the lowest."""
Effect = Literal["raises", "silent", "leak", "fragile", "legacy", "invalid"]

SEVERITY_OF: dict[Effect, Severity] = {
    "raises": "error",
    "silent": "error",
    "leak": "warning",
    "fragile": "warning",
    "legacy": "info",
    "invalid": "error",
}
"""The severity that an effect has unless a rule says it of one finding; `invalid` is a file that cannot be read."""


def is_at_least(severity: Severity, least: Severity) -> bool:
    """Return whether a severity is the other one or a higher one."""
    return SEVERITIES.index(severity) <= SEVERITIES.index(least)


class Position(NamedTuple):
    """A place in a file; rows and columns count from 1, columns in characters."""

    row: int
    column: int


class Span(NamedTuple):
    """A stretch of source: from `start` up to, and not including, `end`.

    In a notebook the rows are those of one `cell`; cells of all kinds count, from 1.
    """

    start: Position
    end: Position
    cell: int | None = None


@dataclass(frozen=True)
class Related:
    """Another place that explains a finding: where the leaf was made, where the path was cut.

    `filename` names its file where that is not the finding's own.
    """

    span: Span
    message: str
    filename: str | None = None


Move: TypeAlias = "Callable[[Related], Related | None]"
"""Where a related place stands in another text; None where it does not stand in that text at all."""


@dataclass(frozen=True)
class Assumed:
    """Something that a finding rests on and that was not known: what it is drawn from, a sentence, and the place."""

    kind: AssumptionKind
    text: str
    place: Related


Fact: TypeAlias = "tuple[str, str | int | float | bool]"
"""A field of a fault that is a text, a number or a flag: its name, and the value."""


@dataclass(frozen=True)
class Evidence:
    """What the fault that a finding names says of itself, for those who look on: confirmation, formats.

    `fault` is the name of its type; `facts` are its fields that are texts, numbers or flags; `places` are those that
    are places in the program, by field; a field that holds several places stands there several times.
    """

    fault: str
    facts: tuple[Fact, ...] = ()
    places: tuple[tuple[str, Related], ...] = ()

    def fact(self, name: str) -> str | int | float | bool | None:
        """Return the value of a field; None where the fault has no such field, or knows no value for it."""
        return dict(self.facts).get(name)

    def at(self, *names: str) -> tuple[Related, ...]:
        """Return the places that stand in fields of these names."""
        return tuple(place for name, place in self.places if name in names)

    def relocated(self, move: Move) -> Evidence:
        """Return the evidence with its places in another text."""
        moved = ((name, move(place)) for name, place in self.places)
        return replace(self, places=tuple((name, place) for name, place in moved if place is not None))


class Edit(NamedTuple):
    """A replacement of one stretch of source."""

    span: Span
    content: str


@dataclass(frozen=True)
class Fix:
    """A repair: edits to apply together. A safe one keeps the program's values where it worked."""

    message: str
    edits: tuple[Edit, ...]
    safe: bool


@dataclass(frozen=True)
class Finding:
    """One statement about one place of one file.

    `message` says what torch will do, `hint` what to write instead. `span` is the cause. `lines` is the range of
    rows of the statement (first, last) on any of which a `# noqa` counts. `confirmation` is set where torch was asked.
    `assumptions` are what it rests on and what was not known; an error rests on none.
    `run` says whether it was seen in a run of the program, where one is known.
    `evidence` is what the fault says of itself; its `places` have no text of their own.
    """

    code: str
    name: str
    message: str
    severity: Severity
    effect: Effect
    filename: str
    span: Span
    lines: tuple[int, int]
    hint: str | None = None
    related: tuple[Related, ...] = ()
    fix: Fix | None = None
    confirmation: Confirmation | None = None
    assumptions: tuple[Assumed, ...] = ()
    run: Observed | None = None
    evidence: Evidence | None = field(default=None, compare=False)

    @property
    def stands(self) -> bool:
        """Whether the finding counts: not if torch was asked and refuted it."""
        return self.confirmation is None or self.confirmation.verdict != "refuted"

    def relocated(self, span: Span, move: Move) -> Finding:
        """Return the finding at its span in another text, with all that explains it there."""
        related = tuple(place for place in map(move, self.related) if place is not None)
        evidence = None if self.evidence is None else self.evidence.relocated(move)
        return replace(self, span=span, related=related, evidence=evidence)

    @property
    def claim(self) -> tuple[str, str, tuple[Fact, ...]]:
        """What the finding says, as data: its code, its fault, and the facts of that."""
        found = self.evidence or Evidence("")
        return self.code, found.fault, found.facts

    def repeats(self, other: Finding) -> bool:
        """Return whether the other says the same of the same place: several paths and files may lead to it."""
        return (self.filename, self.code, self.span) == (other.filename, other.code, other.span)

    @property
    def sort_key(self) -> tuple[str, int, Position, str, Position]:
        """Findings come by file, then place, then code."""
        return (self.filename, self.span.cell or 0, self.span.start, self.code, self.span.end)
