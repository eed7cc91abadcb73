"""The one place that says how torch calls the node of a call: `AddmmBackward0`, and what it puts below it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import Operated
from gradlint.domain.graph import Node, Term
from gradlint.domain.state import State
from gradlint.domain.value import Instance, Ref, Unknown
from gradlint.facts import UNKNOWN, Entry, Signature, fact
from gradlint.facts.aliases import is_module
from gradlint.facts.grad_fns import grad_fns
from gradlint.facts.row import NO_CONSTANT
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.operands import flag_of
from gradlint.interpreter.torch.tensor import tensor_at

LEAF = "AccumulateGrad"
SLICES = "CopySlices"


class Named(NamedTuple):
    """Torch's names of the node of a result, several where it is not known which, and those of nodes below it.

    `certain`: the node has this name and no others below it than these.
    """

    names: tuple[str, ...]
    inner: tuple[str, ...] = ()
    certain: bool = True


NOT_KNOWN = Named((), (), False)

_FIXED = {
    "view": Named(("AsStridedBackward0",)),
    "unbind": Named(("UnbindBackward0",)),
    "index": Named(("IndexBackward0",)),
    "BackwardHookFunction": Named(("BackwardHookFunctionBackward",)),
}
"""What the interpreter makes nodes of that is no call of an operation."""


class Given(NamedTuple):
    """What an operation was given: which inputs require grad, their ranks, whether all are contiguous, and a module's
    configuration.

    `operands` keeps the operands alive, by whose identity a node is known to be that of the call; of several tensors
    for one parameter they have one.
    """

    operands: Mapping[str, object]
    grads: Mapping[str, bool]
    ranks: tuple[int | None, ...]
    contiguous: bool
    config: Mapping[str, object]


def given_to(machine: Machine, state: State, call: Operated, module: Ref | None) -> Given:
    """Return what an operation is given that runs now, as the forward of a module if it is one."""
    records = [(label, None if ref is None else tensor_at(state, ref)) for label, ref, _ in call.inputs]
    known = {label: record.grad for label, record in records if record is not None and record.grad is not None}
    arguments = [record for label, record in records if not label.startswith(("p.", "b."))]
    ranks = tuple(None if one is None or one.shape is None else len(one.shape) for one in arguments)
    contiguous = bool(arguments) and all(one is not None and "contiguous" in one.tags for one in arguments)
    record = None if module is None else state.heap.get(module.id)
    config: dict[str, object] = {}
    if isinstance(record, Instance) and is_module(call.op):
        config = {name: flag_of(machine, state, value) for name, value in record.config.items()}
        config["training"] = record.module.training if isinstance(record.module.training, bool) else UNKNOWN
    return Given(call.operands, known, ranks, contiguous, config)


def named(node: Node, given: Given | None = None, *, by_view: bool = False) -> Named:
    """Return how torch calls a node that is recorded, of a call that was given so much.

    `by_view`: it is a write to a view, which torch records at the base.
    """
    if by_view:
        # `x[0] += y` writes to the view, and then stores the view in its own place.
        again = isinstance(node.syntax, cst.AugAssign) and isinstance(node.syntax.target, cst.Subscript)
        return Named((SLICES,), (SLICES, "AsStridedBackward0") if again else ())
    if node.op in ("select", "index"):
        return _subscript(node)
    if node.op == "index assignment":
        return _assignment(node)
    if node.op in _FIXED:
        return _FIXED[node.op]
    if node.op == "sub" and not isinstance(node.operands.get("input"), Term) and node.operands:
        return Named(("RsubBackward1",))  # `1 - t` is `t.__rsub__(1)`.
    if node.op.endswith(".apply"):
        return Named((f"{node.op.removesuffix('.apply')}Backward",))
    return _operation(node, given)


def _operation(node: Node, given: Given | None) -> Named:
    name = next((one for one in (node.op, f"Tensor.{node.op}") if fact(one) is not None), None)
    entry = None if name is None else fact(name)
    if entry is None:
        return NOT_KNOWN
    found = grad_fns(entry.name, _flags(entry, node.operands, given))
    if found is None:
        return NOT_KNOWN
    certain = found.result.certain and len(found.result.must) == 1 and found.inner.certain
    return Named(tuple(sorted(found.result.may)), tuple(sorted(found.inner.may)), certain)


def _flags(entry: Entry, operands: Mapping[str, object], given: Given | None) -> dict[str, object]:
    """Return the call as the tests of the measured names see it."""
    prefix = "forward." if entry.row.is_module else ""
    flags = _constants(entry.row.forward if prefix else entry.sig, prefix)
    flags.update((prefix + name, _flag(value)) for name, value in operands.items())
    if prefix:
        flags.update(_constants(entry.sig, "") if given is not None else _all_unknown(entry.sig))
        flags.update(given.config if given is not None else {})
    elif not operands:
        flags.update(_all_unknown(entry.sig))
    flags.update(_ranks(operands, given))
    if given is not None:
        flags.update((f"@grad.{name}", "yes" if grad else "no") for name, grad in given.grads.items())
        flags.update({"@contiguous": "yes"} if given.contiguous else {})
    return flags


def _constants(signature: Signature, prefix: str) -> dict[str, object]:
    """Return what absent arguments count as."""
    params = [param for overload in signature.overloads for param in overload]
    return {prefix + one.name: one.constant for one in reversed(params) if one.constant is not NO_CONSTANT}


def _all_unknown(signature: Signature) -> dict[str, object]:
    return {param.name: UNKNOWN for overload in signature.overloads for param in overload}


def _flag(value: object) -> object:
    if isinstance(value, Term):
        return "T"
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Unknown):
        return "N" if value.kind in ("number", "int") else UNKNOWN
    return "L" if type(value) is tuple else "O" if not isinstance(value, Ref) else UNKNOWN


def _ranks(operands: Mapping[str, object], given: Given | None) -> dict[str, object]:
    terms = [one for one in operands.values() if isinstance(one, Term)]
    ranks = given.ranks if given is not None else tuple(None if one.shape is None else len(one.shape) for one in terms)
    known = [one for one in ranks if one is not None]
    if not known or len(known) != len(ranks) or any(isinstance(one, Ref) for one in operands.values()):
        return {}
    return {"@ndim": max(known), "@ranks": "r" + "x".join(map(str, known))}


def _subscript(node: Node) -> Named:
    """Return the nodes of `t[index]`: one for each index, the last at the top; whole slices in a tuple leave none."""
    if "indices" in node.operands:
        index = node.operands["indices"]
        return _FIXED["index"] if isinstance(index, Term) else Named(("IndexBackward0",), _INDEXED, False)
    index = node.operands.get("index", NOT_KNOWN)
    entries = index if type(index) is tuple else (index,)
    alone = len(entries) == 1
    found = [_entry(one, alone) for one in entries]
    if any(one is None for one in found):
        return Named((), _INDEXED, False)
    names = [one for one in found if one]
    return Named((names[-1],), tuple(names[:-1])) if names else Named(("AliasBackward0",))


_INDEXED = ("SelectBackward0", "SliceBackward0", "UnsqueezeBackward0")


def _entry(index: object, alone: bool) -> str | None:
    """Return the node of one index, an empty text for one that leaves none; None if that is not known."""
    if isinstance(index, bool):
        return None
    if isinstance(index, int) or (isinstance(index, Unknown) and index.kind == "int"):
        return "SelectBackward0"
    if isinstance(index, slice):
        return "" if index == slice(None) and not alone else "SliceBackward0"
    if index is None:
        return "UnsqueezeBackward0"
    return "" if index is ... else None


def _assignment(node: Node) -> Named:
    """Return the node of `t[index] = value` that writes to the tensor itself: by an index tensor, or to all of it."""
    return Named(("IndexPutBackward0",)) if any(one.label == "indices" for one in node.saved) else NOT_KNOWN
