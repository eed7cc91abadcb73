"""Calls of what is not known: what they may return, and what they may change."""

from __future__ import annotations

import libcst as cst

from gradlint.domain import value as values
from gradlint.domain.announcement import ModeSwitched, NumberBackpropagated, StateDictLoaded, StateDictTaken
from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import DATA, Node
from gradlint.domain.refusal.tensors import FlagCalled
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Bound,
    Context,
    Function,
    Instance,
    Mapping,
    Ref,
    Unknown,
    Value,
)
from gradlint.facts.traits import OF_RESULTS
from gradlint.interpreter.escape import escape, fill, fill_attributes, origins, unknown_call
from gradlint.interpreter.libraries.expectations import RAISING, WARNING, expected_failure
from gradlint.interpreter.libraries.model_zoos import is_part
from gradlint.interpreter.libraries.numpy_arrays import WRITING, array_method
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import STACK, call_at_end, enter_mode
from gradlint.interpreter.python.operators import shares_memory
from gradlint.interpreter.torch.graph_hooks import call_node, register_saved
from gradlint.interpreter.torch.hooks import register_with_node, remove_all
from gradlint.interpreter.torch.methods import call_tensor_method
from gradlint.interpreter.torch.parameters import is_module
from gradlint.interpreter.torch.scaler_stages import invalidate_gradients
from gradlint.interpreter.torch.tensor import as_tensor, is_raised, origin_of_number, shown_tensor
from gradlint.interpreter.world import guesses
from gradlint.interpreter.world.placeholders import (
    call_supposed,
    leaves_of,
    suppose_graph,
    supposed_loss,
)
from gradlint.source.lower.syntax import called_name


def flag_called(machine: Machine, args: Args, node: cst.CSTNode) -> None:
    """x.requires_grad(True): the flag is a bool, which Python does not call.

    Without an argument it may ask for the flag: sparse tensors of other libraries have such a method.
    """
    if not args.positional:
        return
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value == "requires_grad":
        machine.emit(FlagCalled(node))


def never_a_loss(machine: Machine, state: State, node: cst.CSTNode) -> Value:
    """A backward is called on what has none, as on None: what follows from that is not reported."""
    invalidate_gradients(machine, state, node)
    return Unknown("raised")


def call_unknown(machine: Machine, state: State, func: Unknown, args: Args, node: cst.CSTNode) -> Value:
    """Call something unknown; a method of something unknown gets its receiver as an argument."""
    if is_raised(func):
        invalidate_gradients(machine, state, node)
        return func
    key = func.key
    if key is not None and key[0] == "grad_fn" and isinstance(key[1], Node):
        return call_node(machine, state, key[1], args, node)
    if key is not None and key[0] == "requires_grad":
        flag_called(machine, args, node)
        return Unknown("raised")
    if machine.assumes and machine.program.may_backpropagate and guesses.is_loss(called_name(node)):
        machine.assume(Assumption("name", called_name(node), "a loss function", node))
        loss = supposed_loss(state, machine.program.fragment_at(state).torn, node)
        owner = key[1] if key is not None and key[0] == "attr" and isinstance(key[1], Ref) else None
        if owner is not None and all(one.op == DATA and not one.edges for one in origins(state, args.values())):
            # As `model.get_loss(batch)`. An optimizer of the whole has not seen the leaf of a part.
            whole = () if is_part(state, owner) else leaves_of(state, owner)
            args = args._replace(positional=(*whole, *args.positional))
        return call_supposed(machine, state, loss, state.at(loss, Instance), args, node)
    if key is not None and key[0] == "attr" and isinstance(key[1], (Unknown, Ref)) and isinstance(key[2], str):
        if key[2] in RAISING or key[2] in WARNING:
            return expected_failure(machine, state, key[2], args, node)
        return method_of_unknown(machine, state, key[1], key[2], args, node)
    if key is not None and key[0] == "attr" and isinstance(key[1], _FUNCTIONS) and key[2] == "backward":
        return never_a_loss(machine, state, node)
    escape(machine, state, (part for part in key or () if isinstance(part, Ref)), node)
    fill(machine, state, args.values(), node)
    if func.origin is not None and isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        if node.func.attr.value in _OF_ITEMS and not origins(state, args.values()):
            return Unknown(None, func.origin, None, node)  # As `losses.values()`.
        return unknown_call(machine, state, (func, *args.values()), node)
    return unknown_call(machine, state, args.values(), node)


def computed_by(machine: Machine, state: State, network: Value, result: Value, args: Args, node: cst.CSTNode) -> Value:
    """Return what a method of a network gives that was not followed: for a loss it is computed from its parameters."""
    if node not in machine.program.fragment_at(state).for_losses or guesses.may_set_flags(called_name(node)):
        return result
    return suppose_graph(machine, state, network, result, args, node, kept=False)


def method_of_unknown(
    machine: Machine, state: State, receiver: Value, name: str, args: Args, node: cst.CSTNode
) -> Value:
    if not isinstance(receiver, Unknown):
        # A method of a network that is not shown.
        kept = machine.assumes and is_module(state, receiver) and not guesses.may_set_flags(name)
        if kept and machine.frozen:
            machine.assume(Assumption("name", name, "a method that leaves frozen parameters frozen", node))
        result = unknown_call(machine, state, (receiver, *args.values()), node, may_thaw=not kept)
        return computed_by(machine, state, receiver, result, args, node) if kept else result
    whole = _owner_of(state, receiver) if name == "train" and args.get(0, "mode", True) is True else None
    if whole is not None:  # A part of a network that is not shown: the rest may be meant to stay in evaluation mode.
        machine.announce(state, ModeSwitched(node, whole, True))
    if receiver.kind == STACK and name == "enter_context" and isinstance(context := args.get(0, "cm"), Context):
        enter_mode(machine, state, context)
        return None
    if receiver.kind == STACK and name == "callback":
        return call_at_end(state, receiver, args, node)
    if name in _OF_NODES and receiver.key is not None and receiver.key[0] == "grad_fn":
        made = receiver.key[1]
        assert isinstance(made, Node)
        return register_with_node(machine, state, made, None, args.get(0, "fn"), _OF_NODES[name], node)
    if name == "register_hooks":
        return register_saved(machine, state, receiver, args, node)
    if receiver.kind == "array":
        if name in WRITING:
            shares_memory(state, receiver, name, node)
        return array_method(receiver, name, args, node)
    if receiver.kind == "number" and name == "item":
        return receiver  # A scalar of numpy.
    # An array of numpy is viewed as another type, never by sizes.
    by_sizes = name == "view" and any(type(size) is int for size in args.positional)
    tensor = shown_tensor(machine, state, receiver, "unsqueeze" if by_sizes else name)
    has_graph = receiver.origin is not None and (receiver.origin.tracked is True or name == "item")
    if tensor is None and name in OF_RESULTS and has_graph:
        # A result of a network, with its graph; tensors have methods of numbers, other results have not.
        tensor = as_tensor(machine, state, receiver, node)
    if tensor is not None:
        return call_tensor_method(machine, state, tensor, name, args, node)
    if name == "item" and not args.positional and receiver.origin is None:
        return Unknown("number", syntax=node)
    if name == "state_dict" and not args.positional:
        made = state.new(Mapping({}, True))
        machine.announce(state, StateDictTaken(node, receiver, made))
        return made
    if name == "remove" and not args.positional:
        remove_all(machine, state)
    if name.startswith("register_") and name.endswith("_hook"):
        bound = [one.receiver if isinstance(one, Bound) else one for one in args.values()]
        machine.hooked_elsewhere.update(one for one in bound if isinstance(one, Ref))
    if "zero" in name or "clear" in name:
        # Whose gradients an optimizer or a network that is not known clears, nobody can tell.
        invalidate_gradients(machine, state, node)
    if name == "load_state_dict":
        machine.announce(state, StateDictLoaded(node, receiver, args.get(0, "state_dict")))
    number = origin_of_number(receiver) if name == "backward" else None
    if number is not None:
        # A number has no such method; what it was computed from shows what was meant.
        machine.announce(state, NumberBackpropagated(node, number))
        invalidate_gradients(machine, state, node)
        return Unknown("raised")
    fill(machine, state, args.values(), node)
    if name in _PUTTING:
        fill_attributes(machine, state, receiver, Unknown())
    result = unknown_call(machine, state, (receiver, *args.values()), node)
    if receiver.origin is None or receiver.origin.op != DATA:
        return result
    if name in _PUTTING and any(one.live and one.op != DATA for one in origins(state, args.values())):
        # As `batch.update(network(batch))`: what it holds from here on may have a graph.
        for held in [held for held, value in state.locals.items() if value is receiver]:
            state.set(held, Unknown(syntax=node))
        return result
    if origins(state, args.values()):
        return result
    return Unknown(None, receiver.origin, None, node)  # As `batch.to(device)`.


_OF_NODES = {"register_hook": "node", "register_prehook": "node pre"}
"""The methods of `grad_fn` that register a hook, and the kind of hook."""


def _owner_of(state: State, part: Unknown) -> Ref | None:
    """Return the network that something not known is an attribute of, at whatever depth."""
    owner: Value = part
    while isinstance(owner, Unknown) and owner.key is not None and owner.key[0] == "attr":
        owner = owner.key[1]  # type: ignore[assignment]
    return owner if isinstance(owner, Ref) and is_module(state, owner) else None


_FUNCTIONS = (Function, Bound, values.Partial)


_PUTTING = frozenset({"update", "setdefault", "append", "extend", "insert"})
"""The methods of Python's containers that put something into them."""


_OF_ITEMS = frozenset({"values", "items", "get", "pop", "to_tuple"})
"""Methods of containers that give what is in them."""
