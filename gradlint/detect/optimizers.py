"""Parameters that get gradients and that no optimizer holds: late ones, used-up iterators, forgotten networks."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.detect.gathering import is_reachable
from gradlint.detect.holdings import Doubt
from gradlint.domain.event import Noticed
from gradlint.domain.state import State
from gradlint.domain.value import Instance, Mapping, Ref, Sequence, Tensor, Value
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import INITIALISES
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.parameters import SUPPOSED, is_module, modules_of, parameters_of

FAULT = "optimizer-misses-parameter"
SOURCES = "<sources>"
"""The attribute of an optimizer under which stand the modules all of whose parameters it was given."""

USED_UP = 0
"""How many items an iterator holds at most that has given all it had (`Sequence.most`)."""


def sources_of(machine: Machine, state: State, given: Value, node: cst.CSTNode) -> tuple[Ref, ...]:
    """The modules all of whose parameters an optimizer is given; to be asked before they are taken."""
    found: list[Ref] = []
    for value in _lists(state, given, 3):
        module = machine.holdings.listed.get(value.id)
        if module is not None:
            found.append(module)
        if value != given and is_used_up(state, value):
            faults.noticed(machine, FAULT, node, "used up")
    return tuple(found)


def is_used_up(state: State, value: Value) -> bool:
    """Whether a value is an iterator that has given all it had."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return isinstance(record, Sequence) and not record.items and not record.open and record.most == USED_UP


def _lists(state: State, value: Value, depth: int) -> Iterator[Ref]:
    """The lists and iterators in what an optimizer is given: itself, or those of its groups."""
    items: tuple[Value, ...] = value if type(value) is tuple else ()
    if isinstance(value, Ref):
        record = state.heap.get(value.id)
        if isinstance(record, Sequence):
            yield value
            items = record.items
        elif isinstance(record, Mapping):
            items = (record.items.get("params"),)
    if depth:
        for item in items:
            if type(item) is tuple or isinstance(item, Ref):
                yield from _lists(state, item, depth - 1)


def holds_unknown(machine: Machine, state: State, given: Value) -> bool:
    """Whether a list of parameters may hold others than those of modules that are known."""
    open_lists = [
        value.id
        for value in _lists(state, given, 3)
        if getattr(state[value], "open", False) and value.id not in machine.holdings.listed
    ]
    return bool(open_lists) or not isinstance(given, (Ref, tuple))


def stepped(machine: Machine, state: State, ref: Ref, own: frozenset[int], node: cst.CSTNode) -> None:
    """An optimizer steps: which parameters have a gradient by now that it, and any other, does not hold?"""
    optimizer = state[ref]
    assert isinstance(optimizer, Instance)
    place = optimizer.syntax
    if place is None or machine.expected:
        return
    holdings = machine.holdings
    sources = optimizer.attrs.get(SOURCES, ())
    for module in sources if isinstance(sources, tuple) else ():
        for leaf in sorted(_late(machine, state, module) - own - holdings.suspected):
            holdings.suspected.add(leaf)
            related = ((_made(state, leaf), "this parameter came after the optimizer"), (node, "it is not among these"))
            holdings.doubts.append(Doubt(frozenset({leaf}), Noticed(place, FAULT, "late", related)))
    fed_own = {holdings.fed[leaf] for leaf in own if leaf in holdings.fed}
    strangers = [leaf for leaf in holdings.fed if leaf not in own and leaf not in holdings.suspected]
    if not strangers or not _trains_network(state, own):
        return
    for leaf in strangers:
        backward = holdings.fed[leaf]
        if _has_gradient(state, leaf) and (backward in fed_own or not fed_own):
            _forgotten(machine, state, leaf, own if backward not in fed_own else frozenset(), place, backward)


def _late(machine: Machine, state: State, module: Ref) -> set[int]:
    """The parameters of a module that have a gradient, or of the one that has been put in its place."""
    fed = _fed(state, module)
    successor = machine.holdings.replaced.get(module.id)
    if fed or successor is None or not is_module(state, successor):
        return fed
    return _fed(state, successor)


def _trains_network(state: State, own: frozenset[int]) -> bool:
    """Whether an optimizer holds parameters of a module; if only an input, the networks are means to it."""
    for leaf in sorted(own)[:1]:
        record = state.heap.get(leaf)
        if isinstance(record, Tensor) and record.parameter:
            return _root(state, leaf) is not None
    return False


def _fed(state: State, module: Ref) -> set[int]:
    """The parameters of a module that have a gradient. What stands in for a network is not known to get any later."""
    record = state[module]
    if isinstance(record, Instance) and SUPPOSED in record.config:
        return set()
    return {parameter.id for _, parameter in parameters_of(state, module)[0] if _has_gradient(state, parameter.id)}


def _has_gradient(state: State, leaf: int) -> bool:
    record = state.heap.get(leaf)
    return isinstance(record, Tensor) and record.grad is True and isinstance(record.accumulated, Ref)


def _made(state: State, leaf: int) -> cst.CSTNode:
    record = state.heap[leaf]
    assert isinstance(record, Tensor)
    return record.node.syntax


def _forgotten(
    machine: Machine, state: State, leaf: int, own: frozenset[int], place: cst.CSTNode, backward: cst.CSTNode
) -> None:
    """A network with a gradient and no optimizer: a fault if all of it is fresh and nothing else is done with it."""
    holdings = machine.holdings
    holdings.suspected.add(leaf)
    root = _root(state, leaf)
    if root is None:
        _left_alone(machine, state, leaf, own, place, backward)
        return
    found, is_open = parameters_of(state, root)
    leaves = {parameter.id for _, parameter in found}
    holdings.suspected |= leaves
    record = state[root]
    assert isinstance(record, Instance)
    if is_open or record.syntax is None or not _is_fresh(state, root, leaves):
        return
    related = ((record.syntax, "the network is made here"), (backward, "this backward gives it gradients"))
    others = {module.id for module, _ in modules_of(state, root)} | set(_holders(state, root))
    for one in leaves:
        tensor = state.heap[one]
        assert isinstance(tensor, Tensor)
        holdings.strangers[tensor.memory] = one
    event = Noticed(place, FAULT, "forgotten", related)
    holdings.doubts.append(Doubt(frozenset(leaves | others), event, used=True, unless=own, vague=True))


def _left_alone(
    machine: Machine, state: State, leaf: int, own: frozenset[int], place: cst.CSTNode, backward: cst.CSTNode
) -> None:
    """A parameter of no module gets a gradient with others: a fault if nothing is done with it by hand."""
    record = state.heap[leaf]
    assert isinstance(record, Tensor)
    writes = (*state.writes(record.counter), *state.writes(record.memory))
    if (
        own
        or not record.parameter
        or record.syntax is None
        or not all(canonical(write.op) in _INITIALISE for write in writes)
    ):
        return
    if not is_reachable(state, leaf):
        return  # What was computed from it has its name, of which another rule tells.
    related = ((record.syntax, "the parameter is made here"), (backward, "this backward gives it a gradient"))
    event = Noticed(place, FAULT, "bare", related)
    machine.holdings.doubts.append(Doubt(frozenset({leaf, *_holders(state, Ref(leaf))}), event, used=True, vague=True))


def _root(state: State, leaf: int) -> Ref | None:
    """The outermost module that a parameter is registered in."""
    above: dict[int, int] = {}
    for address, record in state.heap.items():
        if isinstance(record, Instance) and is_module(state, Ref(address)):
            above.update((value.id, address) for value in record.attrs.values() if isinstance(value, Ref))
    seen = {leaf}
    at = leaf
    while at in above and above[at] not in seen:
        at = above[at]
        seen.add(at)
    return None if at == leaf else Ref(at)


def _holders(state: State, root: Ref) -> Iterator[int]:
    """Objects that have a module for an attribute: who is given them is given the module."""
    for address, record in state.heap.items():
        if isinstance(record, Instance) and root in record.attrs.values():
            yield address


def _is_fresh(state: State, root: Ref, leaves: set[int]) -> bool:
    """Whether a network stands as torch made it: to be trained, not copied, loaded, frozen or put to evaluation."""
    for _, record in modules_of(state, root):
        if _is_copy(record.syntax) or record.config.get("<training>", True) is not True:
            return False
    for leaf in leaves:
        record_ = state.heap[leaf]
        assert isinstance(record_, Tensor)
        writes = (*state.writes(record_.counter), *state.writes(record_.memory))
        if record_.grad is not True or not all(canonical(write.op) in _INITIALISE for write in writes):
            return False
    return True


def _is_copy(made: cst.CSTNode | None) -> bool:
    func = made.func if isinstance(made, cst.Call) else None
    name = func.attr if isinstance(func, cst.Attribute) else func
    return isinstance(name, cst.Name) and name.value in ("deepcopy", "copy")


_INITIALISE = INITIALISES | {"reset_parameters"}
"""Writes that give a parameter its first values; others may load a trained network, or train it by hand."""
