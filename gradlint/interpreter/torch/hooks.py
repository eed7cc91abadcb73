"""Hooks: functions of the program that a module runs around its call, and a backward where a gradient passes.

The hooks of a module stand in its record, those of a tensor's node in the facts of the state.

Measured with torch 2.13: what a forward hook returns replaces the output, unless it is None, and a forward pre-hook's
replaces the arguments; `module.forward(x)` runs none of them. With a backward hook the arguments and the output of a
module are views made by a custom function, which refuse in-place writes. Gradients come without a graph, unless the
backward was called with `create_graph=True`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Literal, TypeAlias

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.functions import HookResult
from gradlint.domain.shape import same_shape
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import (
    Args,
    Bound,
    Context,
    External,
    Function,
    Hook,
    HookHandle,
    Instance,
    Mapping,
    Ref,
    Tensor,
    Unknown,
    Value,
)
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.python.contexts import enter_mode, leave_mode
from gradlint.interpreter.torch.backward import Walk
from gradlint.interpreter.torch.parameters import is_module, modules_of
from gradlint.interpreter.torch.tensor import known_tensor, new_tensor, tensor_at, view_of

HANDLE = "torch.utils.hooks.RemovableHandle"

_UNWATCHED = Context("no_grad")


# Registered and removed.


def register(kind: str) -> Method:
    """Return the method of a module that registers hooks of a kind."""

    def method(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        record = state.at(ref, Instance)
        hook = Hook(kind, args.get(0, "hook"), fresh_address(), args.keywords.get("with_kwargs", False))
        known = record.module.hooks
        hooks = (hook, *known) if args.keywords.get("prepend") is True else (*known, hook)
        state.put(ref.id, record._replace(module=record.module._replace(hooks=hooks)))
        machine.hooked.add(ref.id)
        return state.new(Instance(External(HANDLE), {}, {}, False, node, inner=HookHandle(ref, hook.number)))

    return method


def register_with_node(machine: Machine, state: State, ref: Ref, hook: Value, kind: str, node: cst.CSTNode) -> Value:
    """Register a hook for the gradient of a tensor: `kind` is "gradient", or "accumulated" for a leaf."""
    key = ("hooks", tensor_at(state, ref).node.id)
    known = state.facts.get(key, ())
    assert isinstance(known, tuple)
    number = fresh_address()
    state.decide(key, (*known, (Hook(kind, hook, number), ref)))
    machine.hooked.add(key[1])
    return state.new(Instance(External(HANDLE), {}, {}, False, node, inner=HookHandle(key[1], number)))


def remove(state: State, handle: Instance) -> None:
    """handle.remove()"""
    assert isinstance(handle.inner, HookHandle)
    owner, number = handle.inner
    if isinstance(owner, Ref):
        record = state.at(owner, Instance)
        kept = tuple(hook for hook in record.module.hooks if hook.number != number)
        state.put(owner.id, record._replace(module=record.module._replace(hooks=kept)))
    elif ("hooks", owner) in state.facts:
        pairs = state.facts["hooks", owner]
        assert isinstance(pairs, tuple)
        state.decide(("hooks", owner), tuple(pair for pair in pairs if pair[0].number != number))


def remove_all(machine: Machine, state: State) -> None:
    """A handle that is not known is removed: it may be any."""
    for address in machine.hooked:
        record = state.heap.get(address)
        if isinstance(record, Instance) and record.module.hooks:
            state.put(address, record._replace(module=record.module._replace(hooks=())))
        elif ("hooks", address) in state.facts:
            state.decide(("hooks", address), ())


# Around the call of a module.


def is_hooked(machine: Machine, record: Instance) -> bool:
    """Return whether the call of a module runs more than its `forward`."""
    return bool(machine.hooked) and bool(record.module.hooks)


def call_hooked(
    machine: Machine,
    state: State,
    ref: Ref,
    record: Instance,
    args: Args,
    node: cst.CSTNode,
    forward: Callable[[Args], Value],
) -> Value:
    """Do what `module(...)` does around `module.forward(...)`."""
    hooks = record.module.hooks
    for hook in hooks:
        if hook.kind == "pre":
            args = _before(machine, state, ref, hook, args, node)
    watched = any(hook.kind == "backward" for hook in hooks)
    if watched and state.grad is True:
        args = args._replace(positional=tuple(_guarded(machine, state, one, node) for one in args.positional))
    output = forward(args)
    for hook in hooks:
        if hook.kind == "forward":
            output = _after(machine, state, ref, hook, args, output, node)
    if watched and state.grad is True:
        output = _guarded(machine, state, output, node)
    return output


def _before(machine: Machine, state: State, ref: Ref, hook: Hook, args: Args, node: cst.CSTNode) -> Args:
    given: tuple[Value, ...] = (ref, args.positional)
    if hook.keywords is True:
        given = (*given, state.new(Mapping(dict(args.keywords.items()), args.open)))
    result = _run(machine, state, hook, given, node)
    if result is None:
        return args
    if isinstance(result, Unknown) and known_tensor(machine, state, result) is None:
        return Args((), {}, True, (*args.values(), result))
    if hook.keywords is True:
        if type(result) is not tuple or len(result) != 2:
            return Args((), {}, True, (*args.values(), result))
        pairs = machine.program.pairs(state, result[1])
        positional = result[0] if type(result[0]) is tuple else ()
        keywords = args.keywords if pairs is None else {str(name): value for name, value in pairs.items()}
        return Args(positional, keywords, args.open or pairs is None or type(result[0]) is not tuple)
    return args._replace(positional=result if type(result) is tuple else (result,))


def _after(machine: Machine, state: State, ref: Ref, hook: Hook, args: Args, output: Value, node: cst.CSTNode) -> Value:
    given: tuple[Value, ...] = (ref, args.positional, output)
    if hook.keywords is True:
        keywords = state.new(Mapping(dict(args.keywords.items()), args.open))
        given = (ref, args.positional, keywords, output)
    result = _run(machine, state, hook, given, node)
    if result is None:
        return output
    if isinstance(result, Unknown) and known_tensor(machine, state, result) is None:
        return unknown_call(machine, state, (output, result), node)
    return result


def _run(machine: Machine, state: State, hook: Hook, given: tuple[Value, ...], node: cst.CSTNode) -> Value:
    value = machine.call(state, hook.function, Args(given), node)
    is_builtin = isinstance(hook.function, External) and hook.function.path.startswith("builtins.")
    return None if is_builtin else value


def _guarded(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> Value:
    """Return a tensor as the view that a custom function gives back."""
    if type(value) is tuple:
        return tuple(_guarded(machine, state, one, node) for one in value)
    ref = known_tensor(machine, state, value)
    if ref is None or tensor_at(state, ref).grad is not True:
        return value
    record = tensor_at(state, ref)
    made = Node("BackwardHookFunction", node, [Edge(record.node, True)], tracked=True)
    return view_of(state, ref, made, kind="custom", shape=record.shape, grad=True, dtype=record.dtype, tags=record.tags)


def run_inside(machine: Machine, state: State, ref: Ref, node: cst.CSTNode, origin: Node | None) -> None:
    """A module of which it is not known how it calls its parts is called: the hooks of all of them may run."""
    if not machine.hooked or not is_module(state, ref):
        return
    for module, record in list(modules_of(state, ref)):
        if module != ref:
            for hook in record.module.hooks:
                if hook.kind == "forward":
                    given = (module, Unknown(None, origin, None, node), Unknown(None, origin, None, node))
                    _run(machine, state, hook, given, node)


# Where a backward passes.


def gradients_pass(machine: Machine, state: State, found: Walk, syntax: cst.CSTNode, kind: str) -> None:
    """A backward has run through nodes: the hooks that were registered with them are given their gradients."""
    if not machine.hooked:
        return
    certain = {node.id for node in found.certain}
    for hook, ref, node in list(_registered(state, found.possible.values(), kind)):
        record = state.heap.get(ref.id)
        if isinstance(record, Tensor):
            given = ref if kind == "accumulated" else _gradient(state, record, syntax)
            value = _with_gradient(machine, state, hook, given, syntax)
            what = _misfit(machine, state, value, record, kind) if node in certain else None
            if what is not None:
                machine.emit(HookResult(syntax, what, _place(hook, syntax)))


def _place(hook: Hook, syntax: cst.CSTNode) -> cst.CSTNode:
    """Return where a hook is written."""
    function = hook.function.function if isinstance(hook.function, Bound) else hook.function
    return function.code.node if isinstance(function, Function) else syntax


Misfit: TypeAlias = Literal["something", "other", "shape", "dtype"]


def _misfit(machine: Machine, state: State, value: Value, record: Tensor, kind: str) -> Misfit | None:
    """Return what torch refuses in a hook's result: it takes a gradient of the same sort, or None."""
    ref = known_tensor(machine, state, value)
    if kind == "accumulated":
        return "something" if ref is not None or isinstance(value, (int, float, str)) or type(value) is tuple else None
    if ref is None:
        is_other = (value is not None and isinstance(value, (int, float, str))) or type(value) is tuple
        return "other" if is_other else None
    result = tensor_at(state, ref)
    if same_shape(result.shape, record.shape) is False:
        return "shape"
    if None not in (result.dtype, record.dtype) and result.dtype != record.dtype:
        return "dtype"
    return None


def _registered(state: State, nodes: Iterable[Node], kind: str) -> Iterator[tuple[Hook, Ref, int]]:
    for node in nodes:
        pairs = state.facts.get(("hooks", node.id))
        if isinstance(pairs, tuple):
            yield from ((hook, ref, node.id) for hook, ref in pairs if hook.kind == kind)


def _gradient(state: State, record: Tensor, syntax: cst.CSTNode) -> Ref:
    return new_tensor(state, Node("gradient", syntax), dtype=record.dtype, shape=record.shape)


def _with_gradient(machine: Machine, state: State, hook: Hook, given: Value, syntax: cst.CSTNode) -> Value:
    saved = enter_mode(machine, state, _UNWATCHED)
    value = machine.call(state, hook.function, Args((given,)), syntax)
    leave_mode(state, saved)
    return value
