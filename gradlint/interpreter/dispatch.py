"""Calls of any value: functions of the program, imported things, methods of objects, something unknown."""

from __future__ import annotations

import sys

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Bound,
    External,
    Function,
    Instance,
    Mapping,
    Ref,
    Sequence,
    Unknown,
    Value,
)
from gradlint.interpreter.escape import fill, invalidate_attributes, unknown_call
from gradlint.interpreter.libraries.accelerate import launched
from gradlint.interpreter.libraries.expectations import RAISING, WARNING, expected_failure
from gradlint.interpreter.libraries.model_zoos import NETWORKS, new_network
from gradlint.interpreter.libraries.table import LIBRARIES, LOOKING
from gradlint.interpreter.machine import Exit, Machine, splitting
from gradlint.interpreter.python import containers
from gradlint.interpreter.python.binding import refuses
from gradlint.interpreter.python.builtins.table import FUNCTIONS
from gradlint.interpreter.python.calls import invoke, settle, unfollowed
from gradlint.interpreter.python.classes import find_in_class, is_function_class
from gradlint.interpreter.python.contexts import end_call
from gradlint.interpreter.python.instances import instantiate
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.python.kinds import refuses_call
from gradlint.interpreter.python.literals import text_method
from gradlint.interpreter.python.unbound import is_unbound
from gradlint.interpreter.torch import custom
from gradlint.interpreter.torch.ctx import call_ctx, is_ctx
from gradlint.interpreter.torch.custom_ops import call_op, call_op_method, is_op
from gradlint.interpreter.torch.distributed import SPAWN, WRAPPERS
from gradlint.interpreter.torch.functions import call_torch, with_mode
from gradlint.interpreter.torch.hooks import is_hooked
from gradlint.interpreter.torch.methods import call_tensor_method
from gradlint.interpreter.torch.module import call_instance, call_module_method
from gradlint.interpreter.torch.optim import own_step_called
from gradlint.interpreter.torch.parameters import enter_module, is_module, parameters_of
from gradlint.interpreter.torch.tensor import known_tensor
from gradlint.interpreter.unknown_calls import call_unknown, computed_by, flag_called, method_of_unknown, never_a_loss
from gradlint.interpreter.world.fragment import UNSEEN
from gradlint.interpreter.world.placeholders import (
    made_by_use,
    make_unseen,
    suppose_graph,
)
from gradlint.source.core import Call


def run_call(machine: Machine, states: list[State], instr: Call) -> list[State]:
    """dest = func(args). The program's functions may come back in several states."""
    if len(states) == 1:
        return _call(machine, states[0], instr)
    after: list[State] = []
    for state in states:
        after.extend(_call(machine, state, instr))
    # States that went in apart have a reason to be: they are compared again where branches and loops end.
    return machine.join(after, (instr.dest,)) if len(after) > len(states) else after


def _call(machine: Machine, state: State, instr: Call) -> list[State]:
    machine.budget -= 1
    for arg in instr.args:
        if type(arg.operand) is str and is_unbound(machine, state, arg.operand):
            machine.exits.append(Exit("raise", state))
            return []
    func = machine.read(state, instr.func)
    if _is_of_none(func, instr.node):
        machine.exits.append(Exit("raise", state))
        return []
    args = _arguments(machine, state, instr)
    if type(func) is Ref:
        enter_module(machine, state, func, instr.node)
        func = _unwrapped(machine, state, func)
    machine.path = state
    target = as_function(machine, state, func, args)
    if target is None:
        state.set(instr.dest, call_value(machine, state, func, args, instr.node))
        return [state]
    region = machine.open(state)
    outcomes = _invoke(machine, state, target, instr.node)
    for outcome, value in outcomes:
        if isinstance(func, Bound) and isinstance(value, Unknown) and value.syntax is instr.node:
            value = computed_by(machine, outcome, func.receiver, value, args, instr.node)
        outcome.set(instr.dest, suppose_graph(machine, outcome, func, value, args, instr.node))
    after = machine.join([outcome for outcome, _ in outcomes], (instr.dest,))
    machine.close(after, region)
    return after


def _unwrapped(machine: Machine, state: State, module: Ref) -> Ref:
    """Return the module that runs when one is called: that which a wrapper without hooks holds."""
    record = state.heap.get(module.id)
    if not isinstance(record, Instance) or not isinstance(record.cls, External) or record.cls.path not in WRAPPERS:
        return module
    inner = record.attrs.get("module")
    is_plain = not is_hooked(machine, record) and "forward" not in record.attrs
    return _unwrapped(machine, state, inner) if isinstance(inner, Ref) and is_plain else module


def _arguments(machine: Machine, state: State, instr: Call) -> Args:
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    hidden: list[Value] = []
    is_open = False
    for arg in instr.args:
        value = machine.read(state, arg.operand)
        given: tuple[Value, ...] = ()
        if arg.star == "*":
            items = items_of(machine, state, value, instr.node)
            given = items.items
            if items.open:
                hidden.append(value)
                is_open = True
        elif arg.star == "**":
            pairs = machine.program.pairs(state, value)
            if pairs is None or not all(type(name) is str for name in pairs):
                hidden.append(value)
                is_open = True
            else:
                keywords.update(pairs)
        elif arg.keyword is not None:
            keywords[arg.keyword] = value
        else:
            given = (value,)
        if not hidden:
            positional.extend(given)
            continue
        hidden.extend(given)
        for item in given:  # It is not known which parameter gets it.
            invalidate_attributes(state, item)
    return Args(tuple(positional), keywords, is_open, tuple(hidden))


def _is_of_none(func: Value, node: cst.CSTNode) -> bool:
    """Return whether a method is called that None does not have, of a variable: an attribute may be set elsewhere."""
    if not isinstance(func, Bound) or func.receiver is not None or not isinstance(func.function, str):
        return False
    named = node.func.value if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
    return isinstance(named, cst.Name) and not hasattr(None, func.function)


def as_function(machine: Machine, state: State, func: Value, args: Args) -> tuple[Function, Args] | None:
    """Return the program's function that a callable value runs, with the arguments it gets; None for anything else."""
    if isinstance(func, Unknown):
        started = launched(state, func, args)
        return None if started is None else as_function(machine, state, *started)
    if isinstance(func, Function):
        return func, args
    if isinstance(func, Bound) and isinstance(func.function, Function):
        return func.function, args.prepend(func.receiver)
    if isinstance(func, values.Partial):
        return as_function(machine, state, func.function, _completed(func, args))
    if isinstance(func, External) and func.path in SPAWN:
        given, rank = args.get(1, "args", ()), Unknown("int")
        spawned = Args((rank, *given)) if isinstance(given, tuple) else Args((rank,), {}, True, (given,))
        return as_function(machine, state, args.get(0, "fn"), spawned)
    if isinstance(func, Ref):
        record = state[func]
        if isinstance(record, Instance) and isinstance(record.cls, Ref) and not is_function_class(state, record.cls):
            return _call_method(machine, state, func, record, args)
    return None


def _completed(func: values.Partial, args: Args) -> Args:
    """Return the arguments of a call of a partial, with those that it has."""
    return Args(func.args + args.positional, {**dict(func.keywords), **args.keywords}, args.open)


def _call_method(
    machine: Machine, state: State, func: Ref, record: Instance, args: Args
) -> tuple[Function, Args] | None:
    """Return the method that runs when an object is called: `__call__`, or `forward` of a module without hooks."""
    for name in ("__call__", "forward"):
        if name == "forward" and is_hooked(machine, record):
            return None
        own = record.attrs.get(name)
        if isinstance(own, Function):
            return own, args  # Set on the object, which it is not given.
        method = own or find_in_class(state, record.cls, name)
        if isinstance(method, Function):
            return method, args.prepend(func)
    return None


def call_in_place(machine: Machine, state: State, func: Value, args: Args, node: cst.CSTNode) -> Value:
    """Call any value where the program cannot split: of several outcomes the first that remains goes on."""
    machine.work()
    machine.path = state
    target = as_function(machine, state, func, args)
    if target is None:
        return call_value(machine, state, func, args, node)
    return settle(machine, state, lambda: _invoke(machine, state, target, node), target[1].positional[:1])


def _invoke(
    machine: Machine, state: State, target: tuple[Function, Args], node: cst.CSTNode
) -> list[tuple[State, Value]]:
    """Call a function of the program: what is not known of its result, its use may say."""
    if refuses(*target):  # Python raises; what else is wrong with the program is said all the same.
        return unfollowed(machine, state, *target, node, "calls that Python refuses")
    if target[0].code.name == "step":
        own_step_called(machine, state, target[1], node)
    outcomes = invoke(machine, state, *target, node)
    return [(end, _by_use(machine, end, value, target[1], node)) for end, value in outcomes]


def call_value(machine: Machine, state: State, func: Value, args: Args, node: cst.CSTNode) -> Value:
    """func(args): what is not known of the result, its use may say."""
    return _by_use(machine, state, _call_value(machine, state, func, args, node), args, node)


def _by_use(machine: Machine, state: State, value: Value, args: Args, node: cst.CSTNode) -> Value:
    is_unknown = type(value) is Unknown and value.kind is None
    return made_by_use(machine, state, value, args, node) if is_unknown else value


def _call_value(machine: Machine, state: State, func: Value, args: Args, node: cst.CSTNode) -> Value:
    if isinstance(func, External):
        known = FUNCTIONS.get(func.path)
        if known is not None:
            return known(machine, state, args, node)
        if func.path.startswith(("torch.", "functorch.")):
            return call_torch(machine, state, func.path, args, node)
        return _library(machine, state, func.path, args, node)
    if isinstance(func, values.Context):
        end_call(state, func)
        return with_mode(args.positional[0], func) if args.positional else Unknown()
    if isinstance(func, values.Partial):
        return call_value(machine, state, func.function, _completed(func, args), node)
    if isinstance(func, Bound):
        return _bound(machine, state, func, args, node)
    if isinstance(func, Ref):
        record = state[func]
        if isinstance(record, values.Class):
            made = instantiate(machine, state, func, args, node)
            return _by_use_if_open(machine, state, record, made, args, node)
        if is_op(record):
            return call_op(machine, state, func, args, node)
        if isinstance(record, Instance):
            return call_instance(machine, state, func, record, args, node)
    if refuses_call(machine, state, func, node):
        return Unknown("raised")
    if isinstance(func, Unknown):
        return call_unknown(machine, state, func, args, node)
    if isinstance(func, bool):
        flag_called(machine, args, node)
    return unknown_call(machine, state, args.values(), node)


def _by_use_if_open(
    machine: Machine, state: State, cls: values.Class, made: Value, args: Args, node: cst.CSTNode
) -> Value:
    """Return what was made by a class of a package; where it is not all known, rather what its use says."""
    if not machine.program.is_installed(cls.module) or not isinstance(made, Ref):
        return made
    is_open = parameters_of(state, made)[1] if is_module(state, made) else state.at(made, Instance).open
    shown = made_by_use(machine, state, Unknown(syntax=node), args, node) if is_open else made
    return shown if isinstance(shown, Ref) else made


def _library(machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Value:
    """Call a function of a library other than torch."""
    known = LIBRARIES.get(path) or LIBRARIES.get(f"{path.partition('.')[0]}.*")
    if known is not None:
        return known(machine, state, args, node)
    if path.startswith(UNSEEN):
        return make_unseen(machine, state, node)
    if NETWORKS.match(path):
        return new_network(machine, state, node)
    if path.partition(".")[0] in LOOKING:
        return Unknown(syntax=node)
    if path.partition(".")[0] not in _LEAVING:
        fill(machine, state, args.values(), node)
    return unknown_call(machine, state, args.values(), node)


_LEAVING = (sys.stdlib_module_names - {"bisect", "heapq", "operator"}) | {"numpy", "scipy", "sklearn", "torch"}
"""Libraries that leave the lists and dicts they are given as they are."""


def _bound(machine: Machine, state: State, func: Bound, args: Args, node: cst.CSTNode) -> Value:
    receiver, name = func.receiver, func.function
    if not isinstance(name, str):
        return unknown_call(machine, state, args.values(), node)
    if name in RAISING or name in WARNING:
        return expected_failure(machine, state, name, args, node)
    tensor = known_tensor(machine, state, receiver)
    if tensor is not None:
        return call_tensor_method(machine, state, tensor, name, args, node)
    if isinstance(receiver, Ref):
        record = state[receiver]
        if isinstance(record, (Sequence, Mapping)):
            return containers.call_method(machine, state, receiver, name, args, node)
        if isinstance(record, values.Class) and name == "apply":
            return custom.apply(machine, state, receiver, args, node)
        if isinstance(record, Instance) and is_ctx(record):
            return call_ctx(machine, state, receiver, name, args, node)
        if is_op(record):
            return call_op_method(machine, state, receiver, name, args, node)
        if isinstance(record, Instance):
            return call_module_method(machine, state, receiver, record, name, args, node)
    if isinstance(receiver, Unknown):
        return method_of_unknown(machine, state, receiver, name, args, node)
    if isinstance(receiver, str):
        return text_method(receiver, name, args)
    if isinstance(receiver, Bound) and name in ("setter", "deleter"):
        if name == "setter" and args.positional:
            machine.setters[receiver.function] = args.positional[0]
        return receiver  # The property, which the decorated function takes the name of.
    if receiver is None and name == "backward":
        return never_a_loss(machine, state, node)
    return unknown_call(machine, state, (receiver, *args.values()), node)


splitting(Call, run_call)
