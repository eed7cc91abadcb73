"""Values that escape: what an unknown call is given, may do, and gives back."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from operator import is_
from types import NoneType

import libcst as cst

from gradlint.domain.announcement import Escaped, GradientsCleared, GradientTested, GraphsEscaped, GraphsShared
from gradlint.domain.assumption import NO_TRAINING, Assumption
from gradlint.domain.graph import Edge, Node
from gradlint.domain.likeness import makes_others
from gradlint.domain.state import State
from gradlint.domain.value import External, Instance, Mapping, NoGradient, Ref, Sequence, Tensor, Unknown, Value
from gradlint.facts import method_fact
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.reachable import all_attributes, contents, sequence_at
from gradlint.interpreter.torch.switches import thaw
from gradlint.interpreter.world import guesses
from gradlint.source.lower.syntax import called_name


def unknown_call(
    machine: Machine, state: State, values: Iterable[Value], node: cst.CSTNode, *, may_thaw: bool = True
) -> Value:
    """Return the result of a call that is not known: it may depend on everything that went in.

    A decorator that is not known is taken to leave the function as it is. `may_thaw`: frozen leaves may be switched on.
    """
    values = tuple(values)
    if type(node) is cst.Decorator and len(values) == 1:
        return values[0]
    run_hooks_unseen(machine, state, node)
    if called_name(node) in guesses.CLEARING:
        machine.announce(state, GradientsCleared(node, ()))
    values = tuple(value for value in values if _holds(state, value))
    if values or machine.hides_parameters:
        machine.announce(state, Escaped(node, values))
    if not values:
        return Unknown(syntax=node)
    escape(machine, state, values, node)
    if machine.frozen and may_thaw and not _leaves(machine, node, "a function that leaves frozen parameters frozen"):
        thaw(machine, state, values)
    for value in values:
        if type(value) is NoGradient and called_name(node).startswith("assert"):
            # As `self.assertIsNone(...)` of a test.
            machine.announce(state, GradientTested(node, value.read, asserted=True))
        invalidate_attributes(state, value)
    given = origins(state, values)
    if not given:
        return Unknown(syntax=node)
    machine.announce(state, GraphsShared(node, given))
    result = may_depend_on(given, node)
    if (
        result.origin is not None
        and any(graph.cut != "item" for graph in given)
        and not gives_loss(machine, state, node)
    ):
        state.escape()  # Unless it got numbers alone: nobody backpropagates these.
    return result


def run_hooks_unseen(machine: Machine, state: State, node: cst.CSTNode) -> None:
    """Let the hooks of modules that are not seen do what they may to the objects that they belong to, or are."""
    for receiver in machine.hooked_elsewhere:
        invalidate_attributes(state, receiver)
        record = state.heap.get(receiver.id) if isinstance(receiver, Ref) else None
        if isinstance(record, Instance):
            fill(machine, state, record.values(), node)


def run_hooks_inside(machine: Machine, state: State, record: Instance, node: cst.CSTNode) -> None:
    """Let these run as a module is called in which there are some that are not seen."""
    if machine.hooked_elsewhere and makes_others(record):
        run_hooks_unseen(machine, state, node)


def gives_loss(machine: Machine, state: State, node: cst.CSTNode) -> bool:
    """Return whether it is left to the program to backpropagate what something unknown gives, and to clear."""
    name = called_name(node)
    if not machine.assumes or guesses.may_train(name):
        return False
    if not _is_of_tensors(node, name) and node not in machine.program.fragment_at(state).for_losses:
        return False
    machine.assume(Assumption("use", name, NO_TRAINING, node))
    return True


def _is_of_tensors(node: cst.CSTNode, name: str) -> bool:
    """Return whether a method is called whose name is that of a method of tensors, of what a graph hangs on."""
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and method_fact(name) is not None


def _leaves(machine: Machine, node: cst.CSTNode, role: str) -> bool:
    """Return whether a function only looks at what it gets, for all that its name says."""
    name = called_name(node)
    if not machine.assumes or not guesses.only_looks(name):
        return False
    machine.assume(Assumption("name", name, role, node))
    return True


def may_depend_on(graphs: Iterable[Node], node: cst.CSTNode) -> Unknown:
    """Return a value that may be computed from some graphs, by what is not known."""
    edges = [Edge(graph, None) for graph in graphs]
    made = Node("call", node, edges, tracked=None) if any(edge.node.live for edge in edges) else None
    return Unknown(None, made, None, node)


PLAIN = frozenset({int, float, bool, str, bytes, NoneType, External})
"""Types of values that hold no others."""


def _holds(state: State, value: Value) -> bool:
    """Return whether something hangs on a value: a graph, or other values."""
    if isinstance(value, Unknown):
        return value.origin is not None or ("tensor", value) in state.facts
    return type(value) not in PLAIN


def invalidate_attributes(state: State, value: Value, depth: int = 3) -> None:
    """Forget what stands in the attributes of an object, and in its parts', once something unknown was given it."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if not isinstance(record, Instance) or not isinstance(record.cls, Ref) or not isinstance(value, Ref):
        return
    if record.module.uninitialised:
        record = record._replace(module=record.module._replace(uninitialised=False))
        state.put(value.id, record)
    changed = record.mapped(lambda one: _forgotten(state, one))
    if not all(map(is_, changed.values(), record.values())):
        state.put(value.id, changed)
    if depth:
        for one in record.values():
            invalidate_attributes(state, one, depth - 1)


def fill(machine: Machine, state: State, values: Iterable[Value], node: cst.CSTNode) -> None:
    """Let the lists and dicts hold more that something unknown is given, and dicts other numbers and texts.

    Whatever an object is given to while its constructor runs may give it attributes.
    """
    given = [(value, state.heap.get(value.id)) for value in values if type(value) is Ref]
    fillable = [one for one in given if _may_be_filled(state, *one)]
    if not fillable or _leaves(machine, node, "a function that leaves lists and dicts as they are"):
        return
    for value, record in fillable:
        if isinstance(record, Instance):
            state.put(value.id, record._replace(open=True, module=record.module._replace(loose=True)))
        elif isinstance(record, Sequence):
            state.put(value.id, record._replace(open=True, most=None))
        elif isinstance(record, Mapping):
            items = {key: Unknown() if type(one) in PLAIN else one for key, one in record.items.items()}
            state.put(value.id, record._replace(items=items, open=True, rest=record.rest or Unknown()))


def _may_be_filled(state: State, value: Ref, record: object) -> bool:
    if isinstance(record, Instance):
        return _is_made(state, value)
    return isinstance(record, Mapping) or (isinstance(record, Sequence) and record.kind in _GROWING)


def _is_made(state: State, value: Value) -> bool:
    """Return whether the constructor of an object runs."""
    function = state.function
    if function is None or function.code.name != "__init__" or not function.code.params:
        return False
    return state.locals.get(function.code.params[0].name) == value


def fill_attributes(machine: Machine, state: State, attributes: Value, value: Value) -> None:
    """`obj.__dict__` is written under names that are not known: attributes may be new, or other constants.

    Nothing is done where `attributes` is not the `__dict__` of an object.
    """
    key = attributes.key if isinstance(attributes, Unknown) else None
    if key is not None and key[0] == "attr" and key[2] == "__dict__" and isinstance(key[1], Ref):
        set_unnamed(state, key[1], value)


def set_unnamed(state: State, obj: Ref, value: Value) -> None:
    """Assign an attribute under a name that is not known: a constant of the object may be another one from here on."""
    record = state.heap.get(obj.id)
    if isinstance(record, Instance):
        attrs = {name: Unknown() if type(one) in PLAIN else one for name, one in record.attrs.items()}
        state.put(obj.id, record._replace(attrs=attrs).with_unnamed(value))


_GROWING = frozenset({"list", "set", "deque"})
"""The kinds of sequences that may be added to."""


def _forgotten(state: State, value: Value) -> Value:
    if type(value) is tuple or (isinstance(value, Ref) and isinstance(state.heap.get(value.id), Sequence)):
        listed = sequence_at(state, value)
        items = () if listed is None else listed.items
        held = [one for one in items if isinstance(one, Ref)]
        return Unknown() if any(_forgotten(state, one) is not one for one in held) else value
    if isinstance(value, Ref):
        record = state.heap.get(value.id)
        return Unknown() if isinstance(record, Tensor) and not record.parameter and record.node.live else value
    return Unknown() if value is None or isinstance(value, (int, float)) else value


def origins(state: State, values: Iterable[Value]) -> list[Node]:
    """Return the graphs that values were computed by, or hold, up to `MOST_GRAPHS`; first those of their own."""
    found: dict[Node, None] = {}
    given = list(values)
    for value in chain(given, contents(state, given, all_attributes, calls=True)):
        # By its use something unknown may be a tensor, which has a history of its own.
        shown = (state.tensor_of(value) or value) if isinstance(value, Unknown) else value
        record = state.heap.get(shown.id) if isinstance(shown, Ref) else shown
        if isinstance(record, Tensor):
            found[record.node] = None
        elif isinstance(record, Unknown) and record.origin is not None:
            found[record.origin] = None
        if len(found) == MOST_GRAPHS:
            break
    return list(found)


MOST_GRAPHS = 24
"""How many graphs the result of an unknown call is taken to depend on: a network would bring all its parameters."""


def escape(machine: Machine, state: State, values: Iterable[Value], node: cst.CSTNode | None = None) -> None:
    """Announce what hangs on values that go where gradlint does not look: it may be backpropagated or changed there."""
    escaped = machine.escaped

    def has_escaped(ref: Ref) -> bool:
        return escaped.get(ref.id) is state.heap.get(ref.id)

    graphs: list[Node] = []
    for value in contents(state, values, all_attributes, calls=True, skip=has_escaped):
        if isinstance(value, Ref):
            record = escaped[value.id] = state.heap.get(value.id)
            if isinstance(record, Tensor):
                graphs.append(record.node)
        elif isinstance(value, Unknown) and value.origin is not None:
            graphs.append(value.origin)
    if graphs:
        machine.announce(state, GraphsEscaped(node or machine.program.nowhere, graphs))
