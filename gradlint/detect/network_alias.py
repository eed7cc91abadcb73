"""Two names for one network: shown where a program copies the parameters of one to the other."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.state import State
from gradlint.domain.value import Instance, Ref, Sequence, Tensor, Value
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.parameters import is_module, parameters_of
from gradlint.source.lower.syntax import parts

FAULT = "network-alias"
_PLAIN = (cst.Name, cst.Attribute)


def named(machine: Machine, state: State, value: Ref, node: cst.CSTNode) -> None:
    """A name or attribute is bound to an object: remember where, if it is a module that has a name already."""
    record = state.heap.get(value.id)
    if isinstance(record, Instance) and _takes_over(node) and is_module(state, value):
        code = machine.stack[-1].node if machine.stack else machine.program.nowhere
        machine.holdings.aliases.setdefault(value.id, {})[node] = code


def _takes_over(node: cst.CSTNode) -> bool:
    """Whether an assignment gives a further name to what has one, and makes nothing."""
    value = node.value if isinstance(node, (cst.Assign, cst.AnnAssign)) else node
    if isinstance(value, cst.Tuple):
        return any(isinstance(element.value, _PLAIN) for element in value.elements)
    return isinstance(value, _PLAIN)


def loaded(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> None:
    """net.load_state_dict(other.state_dict()): a copy between two names is one between two networks."""
    given = args.get(0, "state_dict")
    if isinstance(given, Ref) and machine.holdings.listed.get(given.id) == ref:
        _one_network(machine, state, ref, [_receiver(node), _receiver(_first(node))], node)


def zipped(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> None:
    """zip(net.parameters(), other.parameters()): to be asked before the items are taken."""
    sources = [machine.holdings.listed.get(value.id) for value in args.positional if isinstance(value, Ref)]
    if len(sources) != 2 or sources[0] is None or sources[0] != sources[1] or not isinstance(node, cst.Call):
        return
    if all(isinstance(value, Ref) and _fresh(state, value) for value in args.positional):
        _one_network(machine, state, sources[0], [_receiver(arg.value) for arg in node.args], node)


def _fresh(state: State, value: Ref) -> bool:
    record = state.heap.get(value.id)
    return isinstance(record, Sequence) and record.kind == "iterator" and bool(record.items)


def _first(node: cst.CSTNode) -> cst.CSTNode:
    return node.args[0].value if isinstance(node, cst.Call) and node.args else node


def _receiver(node: cst.CSTNode) -> str | None:
    """The source of what a method is called on."""
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        return cst.Module([]).code_for_node(node.func.value)
    return None


def _one_network(machine: Machine, state: State, ref: Ref, names: Iterable[str | None], node: cst.CSTNode) -> None:
    """The program tells two networks apart that are one: the fault is where the second name was given."""
    first, second = names
    if first is None or second is None or first == second:
        return
    places = machine.holdings.aliases.get(ref.id, {})
    for place, code in reversed(places.items()):
        if not _is_conditional(place, code):
            apart = f"`{first}` and `{second}` are told apart here"
            faults.noticed(machine, FAULT, _side(place, {first, second}), "", [(node, apart)])
            return


def _side(place: cst.CSTNode, names: set[str]) -> cst.CSTNode:
    """Of several values that are assigned side by side the one that goes by a name of the network."""
    value = place.value if isinstance(place, cst.Assign) else None
    sides = [element.value for element in value.elements] if isinstance(value, cst.Tuple) else []
    named = [side for side in sides if cst.Module([]).code_for_node(side) in names]
    return named[0] if len(named) == 1 else place


def _is_conditional(node: cst.CSTNode, code: cst.CSTNode) -> bool:
    """Whether a statement is run under a condition, so that elsewhere there may be two networks."""
    if isinstance(code, cst.If) and "__name__" not in cst.Module([]).code_for_node(code.test) and _holds(code, node):
        return True
    return any(_is_conditional(node, child) for child in parts(code) if not isinstance(child, cst.BaseExpression))


def _holds(outer: cst.CSTNode, node: cst.CSTNode) -> bool:
    return outer is node or any(_holds(child, node) for child in parts(outer))


def repeated(machine: Machine, state: State, items: Iterable[Value], count: Value, node: cst.CSTNode) -> None:
    """[Net()] * n: one network n times, where the list makes it on the spot."""
    left = node.left if isinstance(node, cst.BinaryOperation) else None
    if not isinstance(left, cst.List) or count in (0, 1) or not all(map(_is_made, left.elements)):
        return
    for item in items:
        if isinstance(item, Ref) and is_module(state, item) and _learns(state, item):
            faults.noticed(machine, FAULT, node, "repeated", [(left, "made once")])
            return


def _is_made(element: cst.BaseElement) -> bool:
    return isinstance(element.value, cst.Call)


def _learns(state: State, ref: Ref) -> bool:
    found = (state.heap[parameter.id] for _, parameter in parameters_of(state, ref)[0])
    return any(isinstance(one, Tensor) and one.grad is True for one in found)
