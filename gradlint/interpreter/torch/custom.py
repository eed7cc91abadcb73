"""`torch.autograd.Function`: forward without grad mode, a node of its own on the tape, and a backward to look at.

Measured with torch 2.13: what `forward` returns hangs on the new node, whatever it was computed from; an input that
is returned as it is becomes a view that refuses writes, unless it was marked dirty; tensors inside lists are not
seen; results of integer types do not require grad; what is saved is saved when `forward` is over.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from gradlint.domain.announcement import FunctionApplied
from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Edge, Node, Tri
from gradlint.domain.refusal.functions import (
    DirtyNotReturned,
    DirtyView,
    FunctionWithoutBackward,
    FunctionWithoutForward,
    SavedNontensor,
    SavedTensorMisused,
)
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Context,
    CtxState,
    External,
    Function,
    Instance,
    Ref,
    Unknown,
    Value,
    View,
    Write,
)
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Lenient, Machine
from gradlint.interpreter.python.calls import invoke
from gradlint.interpreter.python.classes import find_in_class, is_function_class, linear_bases
from gradlint.interpreter.python.contexts import ONCE, enter_mode, leave_mode
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.ctx import CTX, ctx_state, set_at, tensors_among
from gradlint.interpreter.torch.custom_methods import Inputs, parts_of, run_aside, static_method
from gradlint.interpreter.torch.inplace import bump, refuses_write, saved_now
from gradlint.interpreter.torch.tangents import Applied, refuses_tangents
from gradlint.interpreter.torch.tensor import (
    either,
    is_raised,
    known_tensor,
    nontensor,
    tensor_at,
    unknown_tensor,
    view_of,
)
from gradlint.interpreter.torch.transform.duals import has_dual, refuses_dual
from gradlint.interpreter.torch.transform.levels import left, mapped, refuses_custom
from gradlint.interpreter.torch.transform.trees import refuses_rule


def apply(machine: Machine, state: State, cls: Ref, args: Args, node: cst.CSTNode, fewest: int | None = None) -> Value:
    """cls.apply(*args); `fewest` arguments, where nobody calls it and the rest have defaults."""
    forward = static_method(state, cls, "forward")
    if fewest is None and _lacks_forward(state, cls):
        machine.emit(FunctionWithoutForward(node))
        return Unknown("raised")
    if forward is None or args.open or args.keywords:
        return unknown_call(machine, state, args.values(), node)
    if machine.transforms and (
        _refused_below(machine, state, cls, node) or _rule_fails(machine, state, cls, args, node)
    ):
        return Unknown("raised")
    inputs = Inputs(args.positional, {}, len(args.positional) if fewest is None else fewest)
    tensors = [ref for _, ref in inputs.tensors(machine, state)]
    name = f"{getattr(state[cls], 'name', 'the function')}.apply"
    if find_in_class(state, cls, "jvp") is None and refuses_dual(machine, state, tensors, "no-jvp", name, node):
        return Unknown("raised")
    rule = static_method(state, cls, "jvp") if has_dual(machine, state, tensors) else None
    for ref in tensors:
        inputs.writes[ref.id] = len(state.writes(tensor_at(state, ref).counter))
    needs = tuple(needs_grad(machine, state, value) for value in args.positional)
    ctx = state.new(Instance(External(CTX), {"needs_input_grad": needs}, {}, False, node, inner=CtxState()))
    result = run_forward(machine, state, cls, forward, ctx, inputs, node)
    if is_raised(result):
        return result
    if rule is not None:
        kept = ctx_state(state, ctx)
        dirty, unmarked = tensors_among(state, kept.dirty), tensors_among(state, kept.unmarked)
        applied = Applied(name, ctx, inputs.values, result, dirty, unmarked, node)
        if refuses_tangents(machine, state, rule, applied, node):
            return Unknown("raised")
    return recorded(machine, state, cls, ctx, inputs, result, node)


def _lacks_forward(state: State, cls: Ref) -> bool:
    """Return whether neither a class nor any of its bases defines `forward`."""
    bases = [base for base in linear_bases(state, cls) if not isinstance(base, Ref)]
    known = all(base == External("builtins.object") or is_function_class(state, base) for base in bases)
    return known and bool(bases) and find_in_class(state, cls, "forward") is None


def _refused_below(machine: Machine, state: State, cls: Ref, node: cst.CSTNode) -> bool:
    """Return whether a transform that is under way refuses the function."""
    setup = find_in_class(state, cls, "setup_context") is not None
    own, generated = (find_in_class(state, cls, name) for name in ("vmap", "generate_vmap_rule"))
    maps, twice = own is not None or generated is not None, own is not None and generated is True
    return refuses_custom(machine, setup, maps, twice, getattr(state[cls], "name", "the function"), node)


def _rule_fails(machine: Machine, state: State, cls: Ref, args: Args, node: cst.CSTNode) -> bool:
    """Return whether `vmap` refuses the method `vmap` of the function, which is run aside, or what it returns."""
    rule, level = static_method(state, cls, "vmap"), machine.transforms[-1]
    if rule is None or level.kind != "map":
        return False
    tensors = [known_tensor(machine, state, one) for one in args.positional]
    dims = tuple(0 if ref is not None and mapped(machine, tensor_at(state, ref)) is level else None for ref in tensors)
    if dims.count(None) == len(dims):
        return False
    if refuses_arguments(machine, rule, 2 + len(dims), "vmap", node):
        return True
    aside = state.fork()
    given = (unknown_tensor(aside, node) if dim == 0 else one for one, dim in zip(args.positional, dims, strict=True))
    first_exit, region = len(machine.exits), machine.open(aside)
    with left(machine, level):
        ends = invoke(machine, aside, rule, Args((Unknown(), dims, *given)), node)
    del machine.exits[first_exit:]
    machine.close([end for end, _ in ends], region)
    return bool(ends) and all(refuses_rule(machine, end, cls, value, node) for end, value in ends)


def needs_grad(machine: Machine, state: State, value: Value) -> Value:
    """Return an item of `ctx.needs_input_grad`."""
    tensor = known_tensor(machine, state, value)
    if tensor is None:
        return Unknown("bool") if isinstance(value, Unknown) else False
    grad = tensor_at(state, tensor).grad
    return Unknown("bool") if grad is None else grad


def run_forward(
    machine: Machine,
    state: State,
    cls: Ref,
    forward: Function,
    ctx: Ref,
    inputs: Inputs,
    node: cst.CSTNode,
    *,
    bare: bool = False,
) -> Value:
    """Run forward with grad mode off, and `setup_context` where forward goes without a ctx; `bare`: it always does."""
    setup = static_method(state, cls, "setup_context")
    given = inputs.values if setup is not None or bare else (ctx, *inputs.values)
    if refuses_arguments(machine, forward, len(given), "forward", node):
        machine.called.add(forward.code)
        return Unknown("raised")
    saved = enter_mode(machine, state, Context("no_grad"))
    result = machine.call(state, forward, Args(given), node)
    if setup is not None and not refuses_arguments(machine, setup, 3, "setup_context", node):
        machine.call(state, setup, Args((ctx, inputs.values, result)), node)
    leave_mode(state, saved)
    return result


def recorded(
    machine: Machine, state: State, cls: Ref, ctx: Ref, inputs: Inputs, result: Value, node: cst.CSTNode
) -> Value:
    """Put what forward came to on the tape."""
    tensors = inputs.tensors(machine, state)
    needs = either(tensor_at(state, ref).grad for _, ref in tensors)
    hidden = any(isinstance(value, Unknown) and known_tensor(machine, state, value) is None for value in inputs.values)
    requires: Tri = False if state.grad is False else None if state.grad is None or (hidden and not needs) else needs
    found = run_aside(machine, state, cls, ctx, inputs, result, requires, node)
    edges = [
        Edge(tensor_at(state, ref).node, False if index in found.ignored else tensor_at(state, ref).grad, "custom")
        for index, ref in tensors
    ]
    kept_by = ctx_state(state, ctx)
    dirty = tensors_among(state, kept_by.dirty)
    _judge_given(machine, state, ctx, "mark_dirty", kept_by.dirty)
    if requires is not False:
        _judge_given(machine, state, ctx, "save_for_backward", kept_by.saved)
        _judge_given(machine, state, ctx, _UNMARKS, kept_by.unmarked)
    if requires and find_in_class(state, cls, "setup_context") is not None:
        _judge_returned(machine, state, ctx, {ref for _, ref in tensors} - {*dirty}, result)
    results = [known_tensor(machine, state, value) for value in parts_of(result)]
    for ref in dirty:
        refuses_write(machine, state, ref, "mark_dirty", node)
        view = tensor_at(state, ref).view
        if requires and view is not None and view.kind != "maybe" and len(results) > 1:
            machine.emit(DirtyView(node, set_at(state, ctx, "mark_dirty"), tensor_at(state, ref).syntax))
        bump(machine, state, ref, Write(node, "mark_dirty"))
    # What backward does not ask for, torch does not look at: neither that it was written, nor that it is freed.
    saved = tensors_among(state, kept_by.saved) if ctx.id in machine.unpacked else ()
    kept = tuple(saved_now(machine, state, ref, "saved tensor") for ref in saved)
    name = f"{getattr(state[cls], 'name', 'apply')}.apply"
    made = Node(name, node, edges, tracked=requires, saved=kept, frees=bool(kept))
    if isinstance(kept_by.saved, tuple):
        machine.kept[made.id] = kept_by.saved
    backward = static_method(state, cls, "backward")
    once = backward is not None and any(mode.mode == ONCE for mode in backward.modes)
    if once:
        machine.once.add(made.id)
    if once or found.constant:
        machine.constant_gradients.add(made.id)
    defined = [find_in_class(state, cls, name) is not None for name in ("backward", "vjp")]
    if found.random:
        machine.random_backwards.add(made.id)
    if found.reenters is not None:
        machine.reentering[made.id] = found.reenters
    if requires and all(defined):
        machine.raising[made.id] = partial(FunctionWithoutBackward, applied=node, reason="both")
    elif requires and not any(defined):
        machine.raising[made.id] = partial(FunctionWithoutBackward, applied=node)
    elif requires and found.raises is not None:
        raising = partial(FunctionWithoutBackward, applied=node, reason="raises", defined=found.raises)
        machine.raising[made.id] = raising
    if any(ref not in results for ref in dirty):
        machine.emit(DirtyNotReturned(set_at(state, ctx, "mark_dirty")))
    machine.announce(state, FunctionApplied(node, cls, ctx, inputs.values, inputs.writes, result))
    value = _attached(machine, state, made, ctx, inputs, result, node)
    if kept_by.materializes is False and made.tracked and type(value) is tuple and backward is not None:
        return _apart(machine, state, made, backward, ctx, value)
    return value


def _apart(machine: Machine, state: State, made: Node, backward: Function, ctx: Ref, value: tuple[Value, ...]) -> Value:
    """Give each of several results a node of its own, so that a backward shows which of them get a gradient."""
    nodes: list[Node | None] = []
    for one in value:
        ref = known_tensor(machine, state, one)
        if ref is None:
            return value
        record = tensor_at(state, ref)
        apart = Node(made.op, made.syntax, [Edge(made, True)], tracked=True) if record.node is made else None
        if apart is not None:
            state.put(ref.id, record._replace(node=apart))
        nodes.append(apart)
    machine.lenient[made.id] = Lenient(backward, ctx, tuple(nodes))
    return value


def _attached(
    machine: Machine, state: State, made: Node, ctx: Ref, inputs: Inputs, result: Value, node: cst.CSTNode
) -> Value:
    """Return the results as the caller gets them."""
    given = {ref.id for _, ref in inputs.tensors(machine, state)}
    kept = ctx_state(state, ctx)
    dirty = {ref.id for ref in tensors_among(state, kept.dirty)}
    unmarked = {ref.id for ref in tensors_among(state, kept.unmarked)}
    parts: list[Value] = []
    for value in parts_of(result):
        ref = known_tensor(machine, state, value)
        if ref is None:
            parts.append(_unknown_result(made, value, node))
        elif can_require_grad(tensor_at(state, ref).dtype) is False:
            parts.append(ref)
        elif ref.id in unmarked:
            parts.append(ref if ref.id in given else _cut_off(state, ref, made, set_at(state, ctx, _UNMARKS)))
        elif ref.id in given and ref.id not in dirty:
            parts.append(_returned_input(state, ref, made))
        else:
            parts.append(_attach(state, ref, made))
    return tuple(parts) if type(result) is tuple else parts[0]


_UNMARKS = "mark_non_differentiable"


def _cut_off(state: State, ref: Ref, made: Node, marks: cst.CSTNode) -> Ref:
    """Return a result that is marked as not differentiable: the mark cuts it off."""
    edges = [Edge(edge.node, False, "nondiff") for edge in made.edges]
    cut = Node(f"ctx.{_UNMARKS}", marks, edges, cut="nondiff")
    state.put(ref.id, tensor_at(state, ref)._replace(node=cut, grad=False))
    return ref


_VIEWS = {True: "custom", False: "no_grad", None: "maybe"}
"""The kind of a view that a custom function gives back, by whether its node is recorded."""


def _unknown_result(made: Node, value: Value, node: cst.CSTNode) -> Value:
    """Return a result of forward that is not known to be a tensor, with the graph that it may have."""
    if isinstance(value, Unknown) and value.kind is None:
        return Unknown(None, made, None, node)
    return value


def _returned_input(state: State, ref: Ref, made: Node) -> Ref:
    """Return an input returned as it is."""
    record = tensor_at(state, ref)
    kind = _VIEWS[made.tracked]
    return view_of(state, ref, made, kind=kind, shape=record.shape, grad=made.tracked, tags=record.tags)


def _judge_given(machine: Machine, state: State, ctx: Ref, method: str, values: Value) -> None:
    """Report what a method of `ctx` does not take: torch looks at it when forward is over."""
    for value in values if type(values) is tuple else ():
        kind = nontensor(state, value)
        if kind is not None:
            machine.emit(SavedNontensor(set_at(state, ctx, method), kind, method))
            return


def _judge_returned(machine: Machine, state: State, ctx: Ref, given: set[Ref], result: Value) -> None:
    """Report an input that is returned as it is and saved: where there is a `setup_context`, torch takes none."""
    returned = given & {part for part in parts_of(result) if isinstance(part, Ref)}
    if returned & {*tensors_among(state, ctx_state(state, ctx).saved)}:
        machine.emit(SavedTensorMisused(set_at(state, ctx, "save_for_backward"), "returned"))


def _attach(state: State, ref: Ref, made: Node) -> Ref:
    """Return a result that forward computed, perhaps as a view."""
    record = tensor_at(state, ref)
    view = record.view
    if view is not None:
        kind = "maybe" if view.kind == "maybe" else _VIEWS[made.tracked]
        view = View(view.base, kind, view.expanded, view.version)
    state.put(ref.id, record._replace(node=made, grad=made.tracked, view=view, syntax=made.syntax))
    return ref
