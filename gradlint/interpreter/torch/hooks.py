"""Hooks: functions of the program that a module runs around its call, and a backward where a gradient passes.

The hooks of a module stand in its record, those of a tensor's node in the facts of the state.

Measured with torch 2.13: what a forward hook returns replaces the output, unless it is None, and a forward pre-hook's
replaces the arguments; `module.forward(x)` runs none of them. With a backward hook the arguments and the output of a
module are views made by a custom function, which refuse in-place writes. Gradients come without a graph, unless the
backward was called with `create_graph=True`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NamedTuple

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.functions import HookResult, MixedHooks
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import (
    Args,
    Bound,
    External,
    Function,
    Hook,
    HookHandle,
    Instance,
    Mapping,
    Partial,
    Ref,
    Unknown,
    Value,
)
from gradlint.interpreter.escape import unknown_call
from gradlint.interpreter.machine import Machine, Method, Native
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.parameters import is_module, modules_of
from gradlint.interpreter.torch.tensor import known_tensor, nontensor, tensor_at, view_of

HANDLE = "torch.utils.hooks.RemovableHandle"

# Registered and removed.


def register(kind: str) -> Method:
    """Return the method of a module that registers hooks of a kind."""

    def method(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
        record = state.at(ref, Instance)
        hook = Hook(kind, args.get(0, "hook"), fresh_address(), args.keywords.get("with_kwargs", False))
        known = record.module.hooks
        if any(other.kind == _MIXED.get(kind) for other in known):
            machine.emit(MixedHooks(node))
        hooks = (hook, *known) if args.keywords.get("prepend") is True else (*known, hook)
        state.put(ref.id, record._replace(module=record.module._replace(hooks=hooks)))
        machine.hooked.add(ref.id)
        return state.new(Instance(External(HANDLE), {}, {}, False, node, inner=HookHandle(ref, hook.number)))

    return method


_MIXED = {"backward": "old backward", "old backward": "backward"}
"""The kind of hook that a module may not have besides."""


def register_with_tensor(machine: Machine, state: State, ref: Ref, hook: Value, kind: str, node: cst.CSTNode) -> Value:
    """Register a hook for the gradient of a tensor: `kind` is "gradient", or "accumulated" for a leaf."""
    return register_with_node(machine, state, tensor_at(state, ref).node, ref, hook, kind, node)


def register_with_node(
    machine: Machine, state: State, made: Node, ref: Ref | None, hook: Value, kind: str, node: cst.CSTNode
) -> Value:
    """Register a hook for what passes a node, the one of a tensor or, "node" or "node pre", its own."""
    return _note(machine, state, made.id, Hook(kind, hook, fresh_address()), ref, node)


def _note(machine: Machine, state: State, owner: int, hook: Hook, ref: Ref | None, node: cst.CSTNode) -> Value:
    """Note a hook of what has no record of its own, and return its handle."""
    known = state.facts.get(("hooks", owner), ())
    assert isinstance(known, tuple)
    state.decide(("hooks", owner), (*known, (hook, ref)))
    machine.hooked.add(owner)
    return state.new(Instance(External(HANDLE), {}, {}, False, node, inner=HookHandle(owner, hook.number)))


EVERY = -1
"""The owner of the hooks that all modules run, before their own."""


def register_with_every(kind: str) -> Native:
    """Return the function that registers hooks of a kind with all modules: register_module_forward_hook(hook)"""

    def register(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        hook = Hook(kind, args.get(0, "hook"), fresh_address(), args.keywords.get("with_kwargs", False))
        return _note(machine, state, EVERY, hook, None, node)

    return register


OF_EVERY: dict[str, Native] = {
    f"torch.nn.register_module_{name}": register_with_every(kind)
    for name, kind in (
        ("forward_pre_hook", "pre"),
        ("forward_hook", "forward"),
        ("full_backward_hook", "backward"),
        ("full_backward_pre_hook", "backward pre"),
        ("backward_hook", "old backward"),
    )
}
"""The functions that register hooks with all modules."""


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
    return bool(machine.hooked) and (bool(record.module.hooks) or EVERY in machine.hooked)


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
    of_every = state.facts.get(("hooks", EVERY), ())
    assert isinstance(of_every, tuple)
    hooks = (*(hook for hook, _ in of_every), *record.module.hooks)
    for hook in hooks:
        if hook.kind == "pre":
            args = _before(machine, state, ref, hook, args, node)
    watched = state.grad is True and any(hook.kind in OF_BACKWARD for hook in hooks)
    if watched:
        args = args._replace(positional=tuple(_guarded(machine, state, one, node) for one in args.positional))
    output = forward(args)
    for hook in hooks:
        if hook.kind == "forward":
            output = _after(machine, state, ref, hook, args, output, node)
    if watched:
        output = _guarded(machine, state, output, node)
        _expect(machine, state, Watched(ref, hooks, args.positional, output))
    for hook in hooks:
        if hook.kind == "old backward" and state.grad is True:
            _hand_to_node(machine, state, ref, hook, output, node)
    return output


def _hand_to_node(machine: Machine, state: State, module: Ref, hook: Hook, output: Value, node: cst.CSTNode) -> None:
    """A hook of `register_backward_hook` is one of the node that made the output, or the first of several."""
    made = known_tensor(machine, state, output[0] if type(output) is tuple and output else output)
    if made is not None and tensor_at(state, made).leaf is False:
        given = Partial(hook.function, (module,), ())
        register_with_node(machine, state, tensor_at(state, made).node, made, given, "node", node)


OF_BACKWARD = ("backward", "backward pre")
"""The kinds of hooks that a backward runs."""


class Watched(NamedTuple):
    """A call of a module with hooks that a backward runs."""

    module: Ref
    hooks: tuple[Hook, ...]
    inputs: tuple[Value, ...]
    output: Value


def _expect(machine: Machine, state: State, call: Watched) -> None:
    """Note a call with the node that its output passes, where a backward finds it."""
    for part in call.output if type(call.output) is tuple else (call.output,):
        ref = known_tensor(machine, state, part)
        if ref is not None and tensor_at(state, ref).node.op == GUARD:
            state.decide(("watched", tensor_at(state, ref).node.id), call)
            return


GUARD = "BackwardHookFunction"
"""The operation that makes the views."""


def _before(machine: Machine, state: State, ref: Ref, hook: Hook, args: Args, node: cst.CSTNode) -> Args:
    given: tuple[Value, ...] = (ref, args.positional)
    if hook.keywords is True:
        given = (*given, state.new(Mapping(dict(args.keywords.items()), args.open)))
    if refuses_arguments(machine, hook.function, len(given), "register_forward_pre_hook", node):
        return args
    result = _run(machine, state, hook, given, node)
    if hook.keywords is True and _is_no_pair(machine, state, result):
        machine.emit(HookResult(node, "pair", place_of(hook.function, node)))
        return args
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
    if refuses_arguments(machine, hook.function, len(given), "register_forward_hook", node):
        return output
    result = _run(machine, state, hook, given, node)
    if result is None:
        return output
    if nontensor(state, result) in ("number", "text") and known_tensor(machine, state, output) is not None:
        place = place_of(hook.function, node)
        machine.emit(HookResult(place, "output", place))
    if isinstance(result, Unknown) and known_tensor(machine, state, result) is None:
        return unknown_call(machine, state, (output, result), node)
    return result


def run_saving(
    machine: Machine, state: State, ref: Ref, kind: Literal["saved", "loaded"], saved: Value, node: cst.CSTNode
) -> None:
    """Run the hooks after a `state_dict` or `load_state_dict`: none of them may return anything."""
    for module, record in list(modules_of(state, ref)) if machine.hooked else ():
        for hook in record.module.hooks:
            if hook.kind == kind:
                given = (module, saved) if kind == "loaded" else (module, saved, Unknown("str"), Unknown())
                result = machine.call(state, hook.function, Args(given), node)
                if nontensor(state, result) is not None or known_tensor(machine, state, result) is not None:
                    machine.emit(HookResult(node, kind, place_of(hook.function, node)))


def _is_no_pair(machine: Machine, state: State, result: Value) -> bool:
    """Return whether a result is certainly no pair of arguments and keywords."""
    if type(result) is tuple:
        return len(result) != 2
    return known_tensor(machine, state, result) is not None or nontensor(state, result) is not None


def _run(machine: Machine, state: State, hook: Hook, given: tuple[Value, ...], node: cst.CSTNode) -> Value:
    if given[0] in machine.in_hooks:
        return Unknown("raised")  # The hook calls its own module; Python's recursion ends there.
    machine.in_hooks.add(given[0])
    try:
        value = machine.call(state, hook.function, Args(given), node)
    finally:
        machine.in_hooks.discard(given[0])
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
    made = Node(GUARD, node, [Edge(record.node, True)], tracked=True)
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


def place_of(hook: Value, syntax: cst.CSTNode) -> cst.CSTNode:
    """Return where the function is written that is a hook."""
    function = hook.function if isinstance(hook, (Bound, Partial)) else hook
    return function.code.node if isinstance(function, Function) else syntax
