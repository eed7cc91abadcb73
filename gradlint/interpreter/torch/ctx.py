"""`ctx` of a custom function: what forward leaves on it, and what backward and jvp find there."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal.functions import CheckpointReentrant, CtxAttributeMissing
from gradlint.domain.refusal.transform import TransformMismatch
from gradlint.domain.state import State
from gradlint.domain.value import Args, Bound, CtxState, External, Instance, Ref, Tensor, Value, is_unnamed
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import as_tensor

CTX = "torch.autograd.function.FunctionCtx"
"""The class of `ctx`, as far as gradlint knows it: what forward leaves on it stands in the attributes."""

_KEEPING = {
    "save_for_backward": "saved",
    "save_for_forward": "forward",
    "mark_dirty": "dirty",
    "mark_non_differentiable": "unmarked",
}
"""The methods of `ctx` that remember tensors, and under which name its state has them."""

_SWITCH = "set_materialize_grads"
_UNPACKED = "unpacked"


def is_ctx(record: Instance) -> bool:
    """Return whether an object is the `ctx` of a custom function."""
    return record.cls == External(CTX)


def ctx_state(state: State, ctx: Ref) -> CtxState:
    """Return what the methods of a `ctx` were given."""
    inner = state.at(ctx, Instance).inner
    assert isinstance(inner, CtxState)
    return inner


def tensors_among(state: State, values: Value) -> tuple[Ref, ...]:
    """Return the tensors that a `ctx` keeps; none where it is not known which."""
    if type(values) is not tuple:
        return ()
    return tuple(one for one in values if isinstance(one, Ref) and isinstance(state.heap.get(one.id), Tensor))


def set_at(state: State, ctx: Ref, name: str) -> cst.CSTNode:
    """Return where an attribute of `ctx` was set; after a join, only the call of `apply` is known."""
    record = state.at(ctx, Instance)
    assert record.syntax is not None
    return dict(reversed(record.marks)).get(name, record.syntax)


def remember(state: State, ctx: Ref, name: str, node: cst.CSTNode) -> None:
    """Note where an attribute of `ctx` was set; of the calls of a method that keeps tensors, the last counts."""
    record = state.at(ctx, Instance)
    before = tuple(mark for mark in record.marks if mark[0] != name or name not in _KEEPING)
    state.put(ctx.id, record._replace(marks=(*before, (name, node))))


def call_ctx(machine: Machine, state: State, ctx: Ref, name: str, args: Args, node: cst.CSTNode) -> Value:
    """Call a method of `ctx`."""
    if name == _SWITCH:
        state.put(
            ctx.id,
            state.at(ctx, Instance)._replace(inner=ctx_state(state, ctx)._replace(materializes=args.get(0, "value"))),
        )
        return None
    if name not in _KEEPING:
        return unknown_call(machine, state, args.values(), node)
    remember(state, ctx, name, node)
    values = tuple(as_tensor(machine, state, value, node) or value for value in args.positional)
    kept = ctx_state(state, ctx)._replace(**{_KEEPING[name]: values})
    state.put(ctx.id, state.at(ctx, Instance)._replace(inner=kept))
    return None


def ctx_attribute(machine: Machine, state: State, ctx: Ref, name: str, node: cst.CSTNode) -> Value:
    """Return an attribute of `ctx` that forward has not set itself; in backward, there are none but torch's own."""
    if name == "saved_tensors" and ctx.id in machine.pushed:
        kept = ctx_state(state, ctx)
        if kept.forward is None and kept.saved is not None:
            machine.emit(TransformMismatch(node, "ctx.saved_tensors", "jvp-unsaved"))
        return () if kept.forward is None else kept.forward
    if name in ("saved_tensors", "saved_variables"):
        machine.unpacked.add(ctx.id)
        saved = ctx_state(state, ctx).saved
        if ctx.id in machine.differentiated and machine.checkpoints:
            if (_UNPACKED, ctx.id) in state.facts:
                machine.emit(CheckpointReentrant(node, "unpacked", machine.checkpoints[-1]))
            state.decide((_UNPACKED, ctx.id), True)
        return () if saved is None else saved
    if name in _KEEPING or name == _SWITCH:
        return Bound(ctx, name)
    if ctx.id in machine.differentiated and not _may_have(machine, state.at(ctx, Instance), ctx, name):
        # Another application of the function may take another way through forward.
        machine.emit(CtxAttributeMissing(node, name, machine.differentiated[ctx.id]), unless=(node, "ctx"))
    return machine.symbol("attr", ctx, name)


def _may_have(machine: Machine, record: Instance, ctx: Ref, name: str) -> bool:
    """Return whether a `ctx` may have an attribute that no visible assignment has set."""
    hidden = record.open or ctx.id in machine.escaped or any(map(is_unnamed, record.attrs))
    return hidden or bool(machine.guarded) or name in _OF_CTX or name.startswith("_")


_OF_CTX = frozenset(
    {
        *(
            "apply",
            "dirty_tensors",
            "mark_shared_storage",
            "materialize_grads",
            "maybe_clear_saved_tensors",
            "metadata",
        ),
        *("name", "needs_input_grad", "next_functions", "non_differentiable", "register_hook", "register_prehook"),
        *("requires_grad", "saved_for_forward", "to_save"),
    }
)
"""What a `ctx` has without its `forward`, beside the methods that gradlint knows."""
