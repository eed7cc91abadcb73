"""The `jvp` of a custom function, which torch calls where an input carries a tangent.

Measured with torch 2.13: `jvp` gets one tangent for each tensor, None for anything else, and must return one for each
result, of its size. Where forward returns a view of an input, or the input itself, it must return a view of a tangent;
where forward writes in place, the tangent of that input, written in place. In `jvp`, `ctx.saved_tensors` are what
`save_for_forward` has kept.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.announcement import FunctionPushed
from gradlint.domain.graph import Node
from gradlint.domain.refusal.transform import Mismatch, TransformMismatch
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State
from gradlint.domain.value import Args, Function, NoGradient, Ref, Unknown, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.calls import invoke
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.tensor import known_tensor, new_tensor, nontensor, tensor_at


class Applied(NamedTuple):
    """One application of a custom function: its name for messages, what it was given, returned, and marked."""

    name: str
    ctx: Ref
    arguments: tuple[Value, ...]
    result: Value
    dirty: tuple[Ref, ...]
    unmarked: tuple[Ref, ...]
    applied: cst.CSTNode


def refuses_tangents(machine: Machine, state: State, rule: Function, one: Applied, node: cst.CSTNode) -> bool:
    """Run `jvp` aside; return whether torch refuses what it returns, on whatever way it ends."""
    if refuses_arguments(machine, rule, 1 + len(one.arguments), "jvp", node):
        return True
    aside = state.fork()
    tangents = tuple(_tangent(machine, aside, value, rule.code.node, one.applied) for value in one.arguments)
    first_exit, region = len(machine.exits), machine.open(aside)
    machine.pushed.add(one.ctx.id)
    ends = invoke(machine, aside, rule, Args((one.ctx, *tangents)), rule.code.node)
    machine.pushed.discard(one.ctx.id)
    del machine.exits[first_exit:]
    machine.close([end for end, _ in ends], region)
    found = [_misfit(machine, state, one, tangents, end, value) for end, value in ends]
    if found and found[0] is not None and all(found):
        reason, got, wanted = found[0]
        machine.emit(TransformMismatch(node, one.name, reason, got, wanted))
        return True
    plain = tuple(None if isinstance(value, NoGradient) else value for value in tangents)
    machine.announce(state, FunctionPushed(rule.code.node, plain, one.arguments, one.result, ends))
    return False


def _tangent(machine: Machine, state: State, value: Value, node: cst.CSTNode, applied: cst.CSTNode) -> Value:
    """Return the tangent of an argument; what is certainly no tensor has none, with which Python cannot compute."""
    ref = known_tensor(machine, state, value)
    if ref is None:
        return Unknown() if isinstance(value, (Unknown, Ref)) else NoGradient(None, 0, applied=applied)
    record = tensor_at(state, ref)
    return new_tensor(state, Node("tangent", node), dtype=record.dtype, shape=record.shape)


def _misfit(
    machine: Machine, state: State, one: Applied, tangents: tuple[Value, ...], end: State, value: Value
) -> tuple[Mismatch, int | None, int | None] | None:
    """Return what torch refuses of the tangents that `jvp` returned, as far as is known."""
    results = one.result if type(one.result) is tuple else (one.result,)
    refs = [known_tensor(machine, state, part) for part in results]
    returned = value if type(value) is tuple else (value,)
    if any(ref is None for ref in refs) or not (type(value) is tuple or known_tensor(machine, end, value) is not None):
        return None
    if len(returned) != len(results):
        return "jvp-count", len(returned), len(results)
    own = {ref.id: tangent for given, tangent in zip(one.arguments, tangents, strict=True)
           if (ref := known_tensor(machine, state, given)) is not None}  # fmt: skip
    counters = {tensor_at(state, Ref(address)).counter for address in own}
    pushed = {tensor_at(end, one).counter for one in own.values() if isinstance(one, Ref)}
    for ref, part in zip(refs, returned, strict=True):
        assert ref is not None
        tangent = known_tensor(machine, end, part)
        if tangent is not None and ref in one.unmarked:
            return "jvp-constant", None, None
        if tangent is None:
            if nontensor(end, part) is not None:
                return "jvp-kind", None, None
            continue
        record, got = tensor_at(state, ref), tensor_at(end, tangent)
        if ref in one.dirty:
            if tangent != own.get(ref.id) or not end.writes(got.counter):
                return "jvp-inplace", None, None
        elif (ref.id in own or (record.view is not None and record.counter in counters)) and (
            got.view is None or got.counter not in pushed
        ):
            return "jvp-view", None, None
        if same_shape(record.shape, got.shape) is False:
            return "jvp-shape", None, None
    return None
