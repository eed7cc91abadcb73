from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from gradlint.domain.fault.inplace import DataUse, DataWrite
from gradlint.rules.authoring.phrases import writing
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report, Wrap

_INSTEAD: dict[DataUse, str] = {
    "update": "`with torch.no_grad(): w -= lr * w.grad`",
    "assign": "`with torch.no_grad(): w.copy_(values)`",
    "initialise": "`nn.init.normal_(w)` or a similar function, or `with torch.no_grad(): w.fill_(value)`",
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


class DataUpdate(EventRule[DataWrite]):
    """A leaf that requires grad is written through `.data`.

    What torch does
        It writes silently. `.data` shares the memory of the tensor but has its own version counter, so the check that
        protects values saved for backward never sees the write. If the write happens between forward and backward, the
        gradient is computed with the new values and is wrong. The same write under `torch.no_grad()` increments the
        version counter, and torch raises if the order is wrong.

    Why it matters
        `.data` is older than `torch.no_grad()`. An update through it is correct only at the right
        place, and torch does not report when a later change moves it.

    When it may be wrong
        The finding says that torch's check is bypassed, not that a gradient is wrong: GRD105 reports that. The write
        has the same effect as under `no_grad`. Initialisation, loading, averaging, clipping, and updates after the
        backward are common uses and are reported as information, even if a backward may still need the old value.

    Instead
        Remove `.data` and write under `with torch.no_grad():`. Use `torch.nn.init` for initial values. Instead of
        `w.data = values`, write `w.copy_(values)`, which also keeps shape and dtype.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
        https://docs.pytorch.org/docs/stable/nn.init.html
    """

    code = "GRD301"
    name = "data-update"
    effect = "fragile"
    fix = "safe"
    bad = """\
import torch

x, y = torch.randn(8, 3), torch.randn(8, 1)
weight = torch.zeros(3, 1, requires_grad=True)
loss = (x @ weight - y).pow(2).mean()
loss.backward()
weight.data -= 0.1 * weight.grad.data  # GRD301
weight.grad.data.zero_()
"""
    bad_shows = "weight._version == 0"
    good = """\
import torch

x, y = torch.randn(8, 3), torch.randn(8, 1)
weight = torch.zeros(3, 1, requires_grad=True)
loss = (x @ weight - y).pow(2).mean()
loss.backward()
with torch.no_grad():
    weight -= 0.1 * weight.grad
    weight.grad.zero_()
"""
    good_shows = "weight._version == 1"

    def check(self, event: DataWrite) -> Report | None:
        """Report any write through `.data` to a leaf, and whether a backward may still need the old value."""
        kind = "parameter" if event.parameter else "leaf"
        does = f"{_MILD.get(event.use, 'writes to')} a {kind} through `.data`"
        why = "autograd cannot see this write" + ("; a backward may still need the old value" if event.kept else "")
        return Report(
            event.node,
            f"{writing(event.op, event.node)} {does}: {why}",
            hint=f"write {_INSTEAD[event.use]}",
            related=((event.made, f"the {kind} is created here"),),
            severity="info",
            repair=None if event.kept else _without_data(event.node, event.recorded),
        )


def _without_data(node: cst.CSTNode, recorded: bool) -> Repair | None:
    """Write to the tensor itself under no_grad; `w.data = f(w)` becomes a copy, which keeps the memory.

    A value assigned to `.data` may have another shape or dtype, unless it is computed from the tensor. If the old
    value is still needed, torch would raise in the backward.
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
    safe = not (recorded and _calls_own(node))
    return Repair(message, (*wrap, Change(found, code(found.value))), safe, imports=("torch",))


def _calls_own(node: cst.CSTNode) -> bool:
    """Return whether a node calls functions of the program, judged by their spelling.

    Under no_grad, they would not record a graph that they keep.
    """
    called = node.func if isinstance(node, cst.Call) else None
    is_name = isinstance(called, cst.Name) and called.value not in _HARMLESS
    of_self = isinstance(called, cst.Attribute) and code(called.value) == "self"
    is_own = is_name or of_self or isinstance(called, (cst.Call, cst.Subscript))
    return is_own or any(map(_calls_own, node.children))


_HARMLESS = frozenset({"abs", "float", "int", "len", "max", "min", "range", "round", "sqrt", "sum", "tuple", "list"})


def _mentions(value: cst.BaseExpression, tensor: cst.BaseExpression) -> bool:
    """Return whether an expression occurs in another."""
    return re.search(rf"(?<![\w.]){re.escape(code(tensor))}(?!\w)", code(value)) is not None


def _target(node: cst.CSTNode) -> cst.CSTNode | None:
    """Return the target of a write: that of an assignment, or the receiver of a method."""
    if isinstance(node, cst.AugAssign):
        return node.target
    if isinstance(node, cst.Assign):
        return node.targets[0].target if len(node.targets) == 1 else None
    return node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None


def _chain(node: cst.CSTNode | None) -> Iterator[cst.CSTNode]:
    """Yield an expression and what it is an attribute or an item of, from the outside in."""
    while node is not None:
        yield node
        if isinstance(node, cst.Call):
            node = node.func
        else:
            node = node.value if isinstance(node, (cst.Attribute, cst.Subscript)) else None
