"""`torch.library.custom_op`: an operation of the program, whose gradient is registered apart from what it computes.

Measured with torch 2.13: the function runs below autograd, and what it returns must not share memory with what it was
given; a gradient can be registered for an operation only that writes to nothing. Without one, results still require
grad where an argument does, and a backward that comes to them raises, unless one has been registered by then.
"""

from __future__ import annotations

from functools import partial

import libcst as cst

from gradlint.domain.refusal.functions import CustomOpRefused, OpWithoutBackward
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Bound,
    Class,
    CtxState,
    External,
    Function,
    Instance,
    Kept,
    Partial,
    Ref,
    Tensor,
    Unknown,
    Value,
)
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import known_items
from gradlint.interpreter.torch import custom
from gradlint.interpreter.torch.ctx import CTX
from gradlint.interpreter.torch.custom_methods import Inputs, parts_of, static_method
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at

CUSTOM_OP = "torch.library.CustomOpDef"
"""The class of a custom operation; the only attribute that gradlint gives it is the class of its function."""

_DEFINING = "torch.library.custom_op"


def is_op(record: object) -> bool:
    """Return whether an object is a custom operation."""
    return isinstance(record, Instance) and record.cls == External(CUSTOM_OP)


def define_op(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.library.custom_op(name, fn=None, *, mutates_args, device_types=None, schema=None), perhaps a decorator."""
    if args.open:
        return machine.symbol("custom_op", node, syntax=node)
    if args.get(1, "fn") is None:
        return Partial(External(_DEFINING), args.positional[:1], tuple(args.keywords.items()))
    name, function = args.get(0, "name"), args.get(1, "fn")
    if not isinstance(function, Function):
        return machine.symbol("custom_op", node, syntax=node)
    if _refuses_definition(machine, state, name, function, args, node):
        return Unknown("raised")
    mutated = args.keywords.get("mutates_args")
    attrs: dict[str, Value] = {"forward": Bound(External("builtins.staticmethod"), function)}
    cls = state.new(Class(function.code.name, (_BASE,), attrs, function.code, function.module, (_BASE,)))
    made = state.new(Instance(External(CUSTOM_OP), {"class": cls}, {"mutates": mutated}, False, node, inner=Kept(name)))
    if isinstance(name, str):
        machine.operators[name.partition(".")[0]] = made
    return made


_BASE = External("torch.autograd.Function")


def _refuses_definition(
    machine: Machine, state: State, name: Value, function: Function, args: Args, node: cst.CSTNode
) -> bool:
    """Return whether torch cannot infer the schema of an operation from the signature of its function."""
    mutated, written = args.keywords.get("mutates_args"), function.code.node
    if isinstance(name, str) and "::" not in name:
        reason = CustomOpRefused(node, "namespace", name)
    elif "mutates_args" not in args.keywords:
        reason = CustomOpRefused(node, "mutates", function.code.name)
    elif args.keywords.get("schema") is None and isinstance(written, cst.FunctionDef):
        params = [one for one in written.params.params if one.annotation is None]
        names = {one.name for one in function.code.params}
        unknown = [one for one in known_items(state, mutated) or () if isinstance(one, str) and one not in names]
        if params:
            reason = CustomOpRefused(node, "unannotated", params[0].name.value)
        elif written.returns is None:
            reason = CustomOpRefused(node, "no-result", function.code.name)
        elif unknown and mutated != "unknown":
            reason = CustomOpRefused(node, "mutates", unknown[0])
        else:
            return False
    else:
        return False
    machine.emit(reason)
    return True


def call_op(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """op(*args)"""
    record = state.at(ref, Instance)
    cls = record.attrs["class"]
    forward = static_method(state, cls, "forward") if isinstance(cls, Ref) else None
    given = None if forward is None else _completed(forward, args)
    if forward is None or given is None or not isinstance(cls, Ref) or machine.transforms:
        return machine.symbol("custom_op", node, syntax=node)
    inputs = Inputs(given, {}, len(given))
    tensors = [tensor for _, tensor in inputs.tensors(machine, state)]
    for tensor in tensors:
        inputs.writes[tensor.id] = len(state.writes(tensor_at(state, tensor).counter))
    needs = tuple(custom.needs_grad(machine, state, value) for value in given)
    ctx = state.new(Instance(External(CTX), {"needs_input_grad": needs}, {}, False, node, inner=CtxState()))
    result = custom.run_forward(machine, state, cls, forward, ctx, inputs, node, bare=True)
    if known_items(state, record.config["mutates"]) != ():
        return machine.symbol("custom_op", node, syntax=node)  # With a tag, it may return what it writes to.
    if _shares_memory(state, result, tensors):
        machine.emit(CustomOpRefused(node, "aliases", forward.code.name))
        return Unknown("raised")
    value = custom.recorded(machine, state, cls, ctx, inputs, result, node)
    for part in parts_of(value):
        tensor_of = known_tensor(machine, state, part)
        made = None if tensor_of is None else tensor_at(state, tensor_of).node
        if made is None or made.id not in machine.raising or made.syntax is not node:
            continue
        if _may_be_registered(machine, forward):
            del machine.raising[made.id]
        else:
            machine.raising[made.id] = partial(OpWithoutBackward, applied=node)
            machine.without_backward.setdefault(ref.id, set()).add(made.id)
    return value


def _may_be_registered(machine: Machine, function: Function) -> bool:
    """Return whether an operation may get its gradient where it is not seen: in another file, or for a dispatch key."""
    return function.module != machine.program.home or bool(
        machine.program.source.words & {"impl", "py_impl", "Library"}
    )


def _completed(function: Function, args: Args) -> tuple[Value, ...] | None:
    """Return one value for each parameter; None where that is not known, or a list may hold tensors."""
    params, defaults = function.code.params, dict(function.defaults)
    names = [one.name for one in params]
    if args.open or any(one.kind != "" or one.keyword_only for one in params) or len(args.positional) > len(names):
        return None
    named = {**dict(zip(names, args.positional, strict=False)), **args.keywords}
    filled = {**defaults, **named}
    if filled.keys() != set(names):
        return None
    given = tuple(filled[name] for name in names)
    return None if any(type(one) is tuple for one in given) else given


def _shares_memory(state: State, result: Value, tensors: list[Ref]) -> bool:
    """Return whether a result is certainly one of the tensors that were given, or a view of one."""
    memories = {tensor_at(state, one).memory for one in tensors}
    for part in parts_of(result):
        record = state.heap.get(part.id) if isinstance(part, Ref) else None
        if (
            isinstance(record, Tensor)
            and record.memory in memories
            and (record.view is None or record.view.kind != "maybe")
        ):
            return True
    return False


def call_op_method(machine: Machine, state: State, ref: Ref, name: str, args: Args, node: cst.CSTNode) -> Value:
    """Register something with an operation."""
    if name == "register_autograd":
        return _register(machine, state, ref, args.get(0, "backward"), args.keywords.get("setup_context"), node)
    if name == "register_kernel":  # On another device, something else may run.
        state.put(ref.id, state.at(ref, Instance)._replace(attrs={"class": None}))
    return machine.symbol("custom_op", node, syntax=node)


def register_autograd(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """torch.library.register_autograd(op, backward, /, *, setup_context=None, lib=None)"""
    op = args.get(0, "op")
    ref = machine.operators.get(op) if isinstance(op, str) else op
    if not isinstance(ref, Ref) or not is_op(state.heap.get(ref.id)):
        return None
    return _register(machine, state, ref, args.get(1, "backward"), args.keywords.get("setup_context"), node)


def _register(machine: Machine, state: State, ref: Ref, backward: Value, setup: Value, node: cst.CSTNode) -> Value:
    record = state.at(ref, Instance)
    mutated, cls = known_items(state, record.config["mutates"]), record.attrs["class"]
    if mutated:
        machine.emit(CustomOpRefused(node, "writes", str(mutated[0])))
        return Unknown("raised")
    for made in machine.without_backward.pop(ref.id, ()):
        machine.raising.pop(made, None)
    if isinstance(cls, Ref):
        own = state.at(cls, Class)
        known = isinstance(backward, Function) and (setup is None or isinstance(setup, Function))
        rules = {"backward": backward} if setup is None else {"backward": backward, "setup_context": setup}
        static = {name: Bound(External("builtins.staticmethod"), value) for name, value in rules.items()}
        if known:
            state.put(cls.id, own._replace(attrs={"forward": own.attrs["forward"], **static}))
        else:
            state.put(ref.id, record._replace(attrs={"class": None}))
    return None
