"""The `jvp` of custom functions: it runs at once where an input is dual, and aside for all others.

Measured with torch 2.13: it gets a tangent for each tensor, zeros for one that has none, and None for other arguments.
It returns a tangent for each result; that of a result that was written in place is the tangent of the input, written in
place, and that of a view or of an input a view of the tangent. `ctx.saved_tensors` is what `save_for_forward` got.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import FunctionPushed
from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Node
from gradlint.domain.refusal.transform import Mismatch, TransformMismatch
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, CtxState, Function, Instance, Ref, Tensor, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.calls import invoke
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.tensor import known_tensor, new_tensor, nontensor, tensor_at


class Pushed(NamedTuple):
    """An application: its `ctx`, the arguments and the result of forward. `dual`: an argument has a tangent."""

    ctx: Ref
    arguments: tuple[Value, ...]
    result: Value
    dual: bool
    name: str


def push(machine: Machine, state: State, jvp: Function, of: Pushed, node: cst.CSTNode) -> bool:
    """Run `jvp` on tangents of which nothing is known; return whether torch raises."""
    if of.dual and refuses_arguments(machine, jvp, 1 + len(of.arguments), "jvp", node):
        return True
    aside = state.fork()
    tangents: list[Ref | None] = []
    for value in of.arguments:
        ref = known_tensor(machine, aside, value)
        record = None if ref is None else tensor_at(aside, ref)
        made = None if record is None else Node("tangent", node)
        tangents.append(None if record is None or made is None else _alike(aside, record, made))
    nodes = [None if one is None else tensor_at(aside, one).node for one in tangents]
    first_exit, region = len(machine.exits), machine.open(aside)
    machine.pushed.add(of.ctx.id)
    ends = invoke(machine, aside, jvp, Args((of.ctx, *tangents)), node)
    machine.pushed.discard(of.ctx.id)
    del machine.exits[first_exit:]
    machine.close([end for end, _ in ends], region)
    machine.announce(state, FunctionPushed(jvp.code.node, of.arguments, nodes, ends, of.result))
    if not of.dual or not ends:
        return False
    found = [_misfit(machine, end, of, tangents, value) for end, value in ends]
    if found[0] is None or not all(found):
        return False
    reason, got, wanted = found[0]
    machine.emit(TransformMismatch(node, of.name, reason, got, wanted))
    return True


def _alike(state: State, record: Tensor, made: Node) -> Ref:
    return new_tensor(state, made, dtype=record.dtype, shape=record.shape)


_Misfit = tuple[Mismatch, str | int | None, int | None]


def _misfit(machine: Machine, state: State, of: Pushed, tangents: list[Ref | None], value: Value) -> _Misfit | None:
    """Return what torch refuses in what `jvp` returned."""
    results = of.result if type(of.result) is tuple else (of.result,)
    parts = value if type(value) is tuple else (value,)
    refs = [known_tensor(machine, state, one) for one in results]
    if any(ref is None for ref in refs):
        return None
    if type(value) is not tuple and known_tensor(machine, state, value) is None:
        kind = nontensor(state, value)
        return None if kind not in ("number", "text") else ("jvp-kind", _KINDS[kind], None)
    if len(parts) != len(results):
        return "jvp-count", len(parts), len(results)
    for ref, part in zip(refs, parts, strict=True):
        given = known_tensor(machine, state, part)
        if ref is not None and given is not None:
            reason = _of_one(machine, state, of, tangents, ref, given)
            if reason is not None:
                return reason, None, None
    return None


_KINDS = {"number": "number", "text": "string"}


def _of_one(
    machine: Machine, state: State, of: Pushed, tangents: list[Ref | None], result: Ref, tangent: Ref
) -> Mismatch | None:
    """Return what torch refuses in the tangent of one result."""
    record, own = tensor_at(state, result), tensor_at(state, tangent)
    kept = state.at(of.ctx, Instance).inner
    assert isinstance(kept, CtxState)
    if can_require_grad(record.dtype) is False or result in _listed(kept.unmarked):
        return "jvp-integer"
    arguments = [known_tensor(machine, state, one) for one in of.arguments]
    if result in _listed(kept.dirty):
        given = tangents[arguments.index(result)] if result in arguments else None
        return "jvp-inplace" if given is not None and tangent != given else None
    if result in arguments or _is_view_of(record, arguments):
        return "jvp-view" if own.view is None else None
    return "jvp-shape" if same_shape(own.shape, record.shape) is False else None


def _listed(values: Value) -> tuple[Value, ...]:
    return values if type(values) is tuple else ()


def _is_view_of(record: Tensor, arguments: list[Ref | None]) -> bool:
    """Return whether a result is certainly a view of an argument."""
    view = record.view
    return (
        view is not None and view.kind != "maybe" and any(one is not None and one.id == view.base for one in arguments)
    )
