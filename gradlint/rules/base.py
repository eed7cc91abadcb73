"""The base class of rules, and the types of their edits and reports."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import ClassVar, Generic, Literal, NamedTuple, TypeAlias, TypeVar, cast, get_args

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.finding import SEVERITY_OF, Effect, Severity
from gradlint.domain.frozen import Frozen


class Change(NamedTuple):
    """An edit that replaces the source of a node by a text; parentheses around an expression stay."""

    node: cst.CSTNode
    text: str


class Wrap(NamedTuple):
    """An edit that puts the statement around a node under a header such as `with torch.no_grad():`.

    If the statement must consist of the node and is more, there is no repair.
    """

    node: cst.CSTNode
    header: str
    whole: bool = False


class Below(NamedTuple):
    """An edit that puts the statement around a node under a header, with the statements of its block that need it.

    That is all down to the last one that reads what it assigns, or what is computed from that; there is no repair where
    one of them calls `backward` or `step`, or defines something.
    """

    node: cst.CSTNode
    header: str


class Before(NamedTuple):
    """An edit that inserts a statement before the one around a node."""

    node: cst.CSTNode
    text: str


class Statement(NamedTuple):
    """An edit that replaces the statement that consists of the node and nothing else.

    If the node is only a part of a statement, `inside` replaces the node, or there is no repair. An empty text
    removes the statement.
    """

    node: cst.CSTNode
    text: str
    inside: str | None = None


class After(NamedTuple):
    """An edit that inserts a statement after the assignment of a node to a name."""

    node: cst.CSTNode
    name: str
    text: str


class Rebinding(NamedTuple):
    """An edit that turns `name = <node>`, where the node reads the name, into an in-place update under a header."""

    node: cst.CSTNode
    header: str


class Reading(NamedTuple):
    """An edit that, in `name = <node>`, calls a method without arguments on the name that the node reads.

    The same applies to all names of a tuple and to attributes such as `self.state`; if none is read, there
    is no repair.
    """

    node: cst.CSTNode
    method: str


class Reduced(NamedTuple):
    """An edit that calls a method without arguments, such as `sum`, on an expression.

    If a name in it is read as a number further down its block (`loss.item()`), the method is called on that name, in
    a statement before, so that the number is reduced as well.
    """

    node: cst.BaseExpression
    name: str | None
    method: str


class Remove(NamedTuple):
    """An edit that removes the statement around a node."""

    node: cst.CSTNode


Edit: TypeAlias = Change | Wrap | Below | Before | After | Rebinding | Reading | Reduced | Statement | Remove


FixKind: TypeAlias = Literal["safe", "unsafe", "safe or unsafe"]


class Repair(Frozen):
    """A fix for a report, in syntax nodes: changes that are made together.

    A safe fix keeps the values of every program that worked. `imports` are dotted paths used in the new text, such
    as `torch.nn.functional`: they are written under the module's names for them, and imported if necessary.
    """

    message: str
    changes: tuple[Edit, ...]
    safe: bool = True
    imports: tuple[str, ...] = ()


class Report(Frozen):
    """A rule's report about one event, in syntax nodes; `check.py` turns nodes into places.

    Of the related places, those whose node is None are left out.
    """

    node: cst.CSTNode
    message: str
    hint: str | None = None
    related: tuple[tuple[cst.CSTNode | None, str], ...] = ()
    severity: Severity | None = None
    effect: Effect | None = None
    repair: Repair | None = None


class Rule(ABC):
    """One fault. Each subclass has its own file; file, class, and code match.

    `bad` and `good` are a pair of programs that teaches; the other examples stand in `tests/rules/<family>/<name>.md`.
    The tests lint both and execute them under torch. `bad` marks each line where a finding is expected with `# GRDxyz`,
    and findings must match exactly; `good` has none. If `bad` raises, the text matches the pattern `raises`, at the
    line that ends in `# raises`, or else at the first line with a mark. A silent effect is shown by `bad_shows`: an
    expression that is evaluated in the program's globals after it has run, and must be true; so is `good_shows`.

    `url` is the page about a rule of a plugin; `plugin` is the package that it comes from, empty for gradlint's own.

    `fix` says which kinds of fix the rule may offer; the tests compare it with those of the examples. `torch_says`
    holds patterns of the errors that confirm a finding, if `raises` does not suffice. The docstring of the subclass is
    its documentation: the first line is the summary, then paragraphs headed `What torch does`, `Why it matters`, `When
    it may be wrong`, `Instead`, `References`.

    A rule without `default` is off unless it is selected. One with `preview`, which has no `default`, is still being
    tried out, and `--preview` switches it on.

    One that is `run_only` is about what values show: `gradlint run` reports it, and `gradlint check` never does.

    A direct subclass is about a file, and has no events: `check.py` and `silencing.py` report it.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    effect: ClassVar[Effect]
    events: ClassVar[tuple[type[Event], ...]] = ()
    bad: ClassVar[str | None] = None
    bad_shows: ClassVar[str | None] = None
    good: ClassVar[str | None] = None
    good_shows: ClassVar[str | None] = None
    raises: ClassVar[str | None] = None
    torch_says: ClassVar[tuple[str, ...]] = ()
    fix: ClassVar[FixKind | None] = None
    default: ClassVar[bool] = True
    preview: ClassVar[bool] = False
    run_only: ClassVar[bool] = False
    url: ClassVar[str | None] = None
    plugin: str = ""

    @property
    def severity(self) -> Severity:
        """Return the severity of a finding for which `check` sets no other."""
        return SEVERITY_OF[self.effect]

    @property
    def errors(self) -> tuple[str, ...]:
        """Return patterns of the errors that confirm a finding: `torch_says`, or else that of the example."""
        return self.torch_says or ((self.raises,) if self.raises else ())

    @property
    def error(self) -> str | None:
        """Return one pattern for all `errors`, or None if no error confirms a finding."""
        return "|".join(f"(?:{error})" for error in self.errors) or None

    def judge(self, event: Event) -> Report | None:
        """Return the report about one event of a type in `events`."""
        return None


Reported = TypeVar("Reported", contravariant=True)


class EventRule(Rule, Generic[Reported]):
    """A rule about events of the types that its class states: `class LeafInplace(EventRule[LeafWrite])`, or a union."""

    def __init_subclass__(cls) -> None:
        """Read `events` from the parameter of the base class."""
        for base in vars(cls).get("__orig_bases__", ()):
            (reported,) = get_args(base)
            cls.events = get_args(reported) or (reported,)

    def judge(self, event: Event) -> Report | None:
        """Return the report about one event of a type in `events`."""
        return self.check(cast("Reported", event))

    @abstractmethod
    def check(self, event: Reported) -> Report | None:
        """Return the report about one event, or None if it is no fault. Pure."""
