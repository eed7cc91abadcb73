"""A small world instead of torch: names that begin with `fault_` are faults; `crash` breaks the interpreter.

With it the entry points are tested for what they do, whatever the real rules come to say.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field

import libcst as cst

from gradlint.domain.event import Event
from gradlint.rules.base import Change, EventRule, Repair, Report, Rule
from gradlint.rules.files.invalid_syntax import InvalidSyntax
from gradlint.rules.files.unreadable_file import UnreadableFile
from gradlint.source.files import Files, Unit

RAISES = "error: GRD101 leaf-inplace: torch raises here"
GROWS = "warning: GRD102 leaf-view-inplace: memory grows"
"""What the concise format says of `fault_a` and `fault_b` after the place."""

MORE = "Code after a line where torch raises is checked only in part: fixing it may reveal more findings."
"""What the summary says after a finding of `fault_a`."""


class Fault(Event):
    """A name that begins with `fault_`, and the node of the first one in the file."""

    word: str
    first: cst.CSTNode


@dataclass
class FakeInterpretation:
    """What the fake interpreter hands over."""

    events: list[Event] = field(default_factory=list)
    give_ups: Counter[str] = field(default_factory=Counter)
    absences: tuple[Event, ...] = ()
    units: tuple[Unit, ...] = ()
    entrances: dict[cst.CSTNode, set[cst.CSTNode]] = field(default_factory=dict)


def fake_interpret(module: cst.Module, lines: int, path: str, other_files: Files) -> FakeInterpretation:
    """Every fault in order; deterministic, and blind to everything else."""
    seen = FakeInterpretation()
    first: list[cst.CSTNode] = []

    class Visitor(cst.CSTVisitor):
        def visit_Name(self, node: cst.Name) -> None:
            if node.value == "crash":
                raise RuntimeError("the fake interpreter\nbroke")
            if node.value == "given_up":
                seen.give_ups["a call too deep"] += 1
            if node.value.startswith("fault_"):
                first.append(node)
                seen.events.append(Fault(node, node.value, first[0]))

    module.visit(Visitor())
    return seen


class LeafInplace(EventRule[Fault]):
    """A leaf is written in place.

    What torch does: it raises.

    References: see https://example.org/leaf-inplace.html.
    """

    code = "GRD101"
    name = "leaf-inplace"
    effect = "raises"

    def check(self, event: Fault) -> Report | None:
        """Names with an `a`."""
        if event.word == "fault_a":
            related = () if event.first is event.node else ((event.first, "the leaf is made here"),)
            return Report(event.node, "torch raises here", hint="write it under no_grad", related=related)
        return None


class LeafViewInplace(EventRule[Fault]):
    """A view of a leaf is written in place."""

    code = "GRD102"
    name = "leaf-view-inplace"
    effect = "leak"
    fix = "safe or unsafe"

    def check(self, event: Fault) -> Report | None:
        """Names with a `b`, and names that have a fix."""
        if event.word == "fault_b":
            return Report(event.node, "memory grows")
        if event.word in ("fault_safe", "fault_unsafe"):
            again = Repair("write it differently", (Change(event.node, "mended"),), safe=event.word == "fault_safe")
            return Report(event.node, "memory grows", repair=again)
        if event.word == "fault_broken":
            return Report(event.node, "no fix parses", repair=Repair("wrong", (Change(event.node, "1 +"),)))
        return None


class LeafCopied(EventRule[Fault]):
    """A leaf is copied."""

    code = "GRD103"
    name = "leaf-copied"
    effect = "legacy"

    def check(self, event: Fault) -> Report | None:
        """Names with an `i`."""
        return Report(event.node, "an old way") if event.word == "fault_i" else None


class NewName(EventRule[Fault]):
    """A new name; still being tried out."""

    code = "GRD802"
    name = "new-name"
    effect = "legacy"
    default = False
    preview = True

    def check(self, event: Fault) -> Report | None:
        """Names with an `i`."""
        return Report(event.node, "a new name") if event.word == "fault_i" else None


class OldName(EventRule[Fault]):
    """A name of old; off unless selected."""

    code = "GRD801"
    name = "old-name"
    effect = "legacy"
    default = False

    def check(self, event: Fault) -> Report | None:
        """Every fault."""
        return Report(event.node, "an old name")


FAKE_RULES: tuple[Rule, ...] = (
    InvalidSyntax(),
    UnreadableFile(),
    LeafInplace(),
    LeafViewInplace(),
    LeafCopied(),
    OldName(),
    NewName(),
)
