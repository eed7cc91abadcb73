"""GRD301: a leaf is written through `.data`."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault.inplace import DataUse, DataWrite
from gradlint.rules.authoring.phrases import writing
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule, Wrap

_INSTEAD: dict[DataUse, str] = {
    "update": "`with torch.no_grad(): w -= lr * w.grad`",
    "assign": "`with torch.no_grad(): w.copy_(values)`",
    "initialise": "`nn.init.normal_(w)` or its like, or `with torch.no_grad(): w.fill_(value)`",
    "load": "`with torch.no_grad(): w.copy_(other)`",
    "average": "`with torch.no_grad(): w.lerp_(other, 1 - decay)`",
    "scale": "`with torch.no_grad(): w.mul_(factor)`",
    "clip": "`with torch.no_grad(): w.clamp_(low, high)`",
}
_MILD: dict[DataUse, str] = {
    "initialise": "initialises",
    "load": "loads values into",
    "average": "averages values into",
    "scale": "scales",
    "clip": "bounds or scales",
}


class DataUpdate(Rule):
    """A leaf that requires grad is written through `.data`.

    What torch does
        It writes, and says nothing, now or later. `.data` shares the memory of the tensor and has a
        version counter of its own, so the check that protects values saved for backward never sees the
        write: written between forward and backward, the gradient is computed with the new values, and
        is wrong. The same write under `torch.no_grad()` moves the version counter, and torch raises
        where the order is wrong.

    Why it matters
        `.data` dates from the time before `torch.no_grad()`. An update through it works as long as it
        stands in the right place, and nobody is told when it no longer does.

    When it may be wrong
        Nothing is wrong yet: the finding says that the check is switched off, not that a gradient is
        spoilt (that is GRD105). The write does what it would do under `no_grad`: initialisation,
        loading, averaging, clipping, and updates behind the backward are a widespread habit, and are
        reported as mere information, even where a graph is still held that saved the old value.

    Instead
        `with torch.no_grad():` around the same write without `.data`; `torch.nn.init` for initial
        values. In place of `w.data = values` write `w.copy_(values)`, which also keeps shape and type.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
        https://docs.pytorch.org/docs/stable/nn.init.html
    """

    code = "GRD301"
    name = "data-update"
    effect = "fragile"
    events = (DataWrite,)
    fix = "safe"
    bad = (
        Bad(
            """\
import torch

x, y = torch.randn(8, 3), torch.randn(8, 1)
weight = torch.zeros(3, 1, requires_grad=True)
loss = (x @ weight - y).pow(2).mean()
loss.backward()
weight.data -= 0.1 * weight.grad.data  # GRD301
weight.grad.data.zero_()
""",
            shows="weight._version == 0",
        ),
    )
    good = (
        Good(
            """\
import torch

x, y = torch.randn(8, 3), torch.randn(8, 1)
weight = torch.zeros(3, 1, requires_grad=True)
loss = (x @ weight - y).pow(2).mean()
loss.backward()
with torch.no_grad():
    weight -= 0.1 * weight.grad
    weight.grad.zero_()
""",
            shows="weight._version == 1",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Any write through `.data` to a leaf; it is a mere habit where no graph is held that saved the old value."""
        assert isinstance(event, DataWrite)
        kind = "parameter" if event.parameter else "leaf"
        does = f"{_MILD.get(event.use, 'writes to')} a {kind} through `.data`"
        why = "autograd cannot notice it" if event.kept else "a habit that hides mistakes"
        yield Report(
            event.node,
            f"{writing(event.op, event.node)} {does}: {why}",
            hint=f"write {_INSTEAD[event.use]}",
            related=() if event.made is None else ((event.made, f"the {kind} is made here"),),
            severity="info",
            repair=None if event.kept else _without_data(event.node, event.recorded),
        )


def _without_data(node: cst.CSTNode, recorded: bool) -> Repair | None:
    """The same write to the tensor itself, under no_grad; `w.data = f(w)` becomes a copy, which keeps the memory.

    What is assigned to `.data` may be of another shape or type, unless it is made of the tensor itself. Where the old
    value is still needed, torch would refuse the backward.
    """
    target = _target(node)
    attributes = (part for part in _chain(target) if isinstance(part, cst.Attribute))
    found = next((part for part in attributes if part.attr.value == "data"), None)
    if found is None or not isinstance(found.value, (cst.Name, cst.Attribute, cst.Subscript)):
        return None
    wrap = (Wrap(node, "with torch.no_grad():"),) if recorded else ()
    message = "write to the tensor itself" + (", under `torch.no_grad()`" if recorded else "")
    if isinstance(node, cst.Assign) and found is target:
        if not _mentions(node.value, found.value):
            return None
        copied = f"{code(found.value)}.copy_({code(node.value)})"
        return Repair(message, (*wrap, Change(node, copied)), safe=False, imports=("torch",))
    safe = not (recorded and _Calls.of_strangers(node))
    return Repair(message, (*wrap, Change(found, code(found.value))), safe, imports=("torch",))


class _Calls(cst.CSTVisitor):
    """Calls of the program's own functions: under no_grad, a graph that they keep for later would not be made."""

    def __init__(self) -> None:
        self.own = False

    @classmethod
    def of_strangers(cls, node: cst.CSTNode) -> bool:
        """Whether a node holds a call of which its spelling does not say that it only computes."""
        calls = cls()
        node.visit(calls)
        return calls.own

    def on_visit(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Call):
            called = node.func
            is_name = isinstance(called, cst.Name) and called.value not in _HARMLESS
            of_self = isinstance(called, cst.Attribute) and code(called.value) == "self"
            self.own = self.own or is_name or of_self or isinstance(called, (cst.Call, cst.Subscript))
        return True


_HARMLESS = frozenset({"abs", "float", "int", "len", "max", "min", "range", "round", "sqrt", "sum", "tuple", "list"})


def _mentions(value: cst.BaseExpression, tensor: cst.BaseExpression) -> bool:
    """Whether an expression stands somewhere in another."""
    return re.search(rf"(?<![\w.]){re.escape(code(tensor))}(?!\w)", code(value)) is not None


def _target(node: cst.CSTNode) -> cst.CSTNode | None:
    """What a write writes to: the target of an assignment, the receiver of a method."""
    if isinstance(node, cst.AugAssign):
        return node.target
    if isinstance(node, cst.Assign):
        return node.targets[0].target if len(node.targets) == 1 else None
    return node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None


def _chain(node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """An expression, and what it is an attribute or an item of, outside in."""
    while node is not None:
        yield node
        if isinstance(node, cst.Call):
            node = node.func
        else:
            node = node.value if isinstance(node, (cst.Attribute, cst.Subscript)) else None
