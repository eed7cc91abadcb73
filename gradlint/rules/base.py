"""What a rule is: one file that names a fault, documents it, shows it, and recognises it in one event."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, Literal, NamedTuple, TypeAlias

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.finding import SEVERITY_OF, Effect, Severity


class Bad(NamedTuple):
    """A program that shows the fault; the tests lint it and execute it under torch.

    `code` marks each line where a finding is expected with `# GRDxyz`, and findings must match exactly.
    A program whose rule has the effect `raises` must raise an exception whose text matches `error`, at the line
    that ends in `# raises`, or else at the first line with a mark. A silent effect is shown by `shows`: an
    expression that is evaluated after the program ran through, in its global names, and must be true.
    """

    code: str
    error: str | None = None
    shows: str | None = None


class Good(NamedTuple):
    """A program near the fault that is right: no finding, and it runs under torch.

    `shows` is an expression evaluated after the run, as in `Bad`.
    """

    code: str
    shows: str | None = None


class Change(NamedTuple):
    """An edit: the source of a node is replaced by a text; parentheses around an expression stay."""

    node: cst.CSTNode
    text: str


class Wrap(NamedTuple):
    """An edit: the statement in which a node stands goes below a header such as `with torch.no_grad():`."""

    node: cst.CSTNode
    header: str


class Below(NamedTuple):
    """An edit: the statement in which a node stands goes below a header, with those of its block that need it.

    That is all down to the last one that reads what it assigns, or what is computed from that; there is no repair where
    one of them calls `backward` or `step`, or defines something.
    """

    node: cst.CSTNode
    header: str


class Before(NamedTuple):
    """An edit: a statement on a row of its own before the one in which a node stands."""

    node: cst.CSTNode
    text: str


class Statement(NamedTuple):
    """An edit: the text takes the place of the statement that consists of the node and nothing else.

    Where the node is a part of something, `inside` takes the place of the node, or there is no repair. Where the text
    is empty, the statement goes.
    """

    node: cst.CSTNode
    text: str
    inside: str | None = None


class Behind(NamedTuple):
    """An edit: a statement on a row of its own behind the assignment of a node to a name."""

    node: cst.CSTNode
    name: str
    text: str


class Rebinding(NamedTuple):
    """An edit: `name = <node>`, where the name stands in the node, writes to what the name means, below a header."""

    node: cst.CSTNode
    header: str


class Reading(NamedTuple):
    """An edit: in `name = <node>`, the name that is read inside the node goes through a method without arguments.

    So do all names of a tuple, and attributes such as `self.state`; there is no repair where none is read.
    """

    node: cst.CSTNode
    method: str


class Reduced(NamedTuple):
    """An edit: an expression goes through a method without arguments, such as `sum`.

    Where a name in it is read as a number further down its block (`loss.item()`), that name goes through the method, in
    a statement before, so that the number is one as well.
    """

    node: cst.BaseExpression
    name: str | None
    method: str


class Remove(NamedTuple):
    """An edit: the statement in which a node stands goes."""

    node: cst.CSTNode


Edit: TypeAlias = Change | Wrap | Below | Before | Behind | Rebinding | Reading | Reduced | Statement | Remove


FixKind: TypeAlias = Literal["safe", "unsafe", "safe or unsafe"]


@dataclass(frozen=True)
class Repair:
    """How to mend what a report says, in syntax nodes: changes to make together.

    A safe one keeps the program's values wherever the program worked. `imports` are dotted paths that stand in the
    new text, such as `torch.nn.functional`: they are written as the module calls them, and imported if need be.
    """

    message: str
    changes: tuple[Edit, ...]
    safe: bool = True
    imports: tuple[str, ...] = ()


@dataclass(frozen=True)
class Report:
    """What a rule says of one event, in syntax nodes; `check.py` turns nodes into places."""

    node: cst.CSTNode
    message: str
    hint: str | None = None
    related: tuple[tuple[cst.CSTNode, str], ...] = ()
    severity: Severity | None = None
    effect: Effect | None = None
    repair: Repair | None = None


class Rule(ABC):
    """One fault. Subclasses stand one to a file; file, class, and code match.

    `bad` and `good` hold one or two pairs that teach; the other examples stand in `tests/rules/<family>/<name>.md`.
    `fix` says what repairs the rule may offer; the tests compare it with those of the examples.
    `torch_says` holds patterns of the errors that confirm a finding, where those of the examples here are too few.
    The docstring of the subclass is its documentation: the first line is the summary, then paragraphs headed
    `What torch does`, `Why it matters`, `When it may be wrong`, `Instead`, `References`.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    effect: ClassVar[Effect]
    events: ClassVar[tuple[type[Event], ...]]
    bad: ClassVar[tuple[Bad, ...]]
    good: ClassVar[tuple[Good, ...]]
    torch_says: ClassVar[tuple[str, ...]] = ()
    fix: ClassVar[FixKind | None] = None
    default: ClassVar[bool] = True

    @property
    def severity(self) -> Severity:
        """The severity of a finding for which `check` names no other."""
        return SEVERITY_OF[self.effect]

    @property
    def errors(self) -> tuple[str, ...]:
        """Patterns of the errors that confirm a finding: `torch_says`, or else those of the examples."""
        return self.torch_says or tuple(sorted({bad.error for bad in self.bad if bad.error is not None}))

    @property
    def error(self) -> str | None:
        """One pattern for all `errors`; None where no error confirms a finding."""
        return "|".join(f"(?:{error})" for error in self.errors) or None

    @abstractmethod
    def check(self, event: Event) -> Iterator[Report]:
        """Yield what there is to say about one event of a type in `events`; a pure function."""
