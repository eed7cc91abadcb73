"""What a module registers, and what it only holds: attributes set, modules called inside another's methods."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.detect.holdings import Doubt
from gradlint.domain.event import Noticed
from gradlint.domain.fault.modules import ParameterMoved
from gradlint.domain.graph import Node
from gradlint.domain.refusal.modules import NoParameterRegistered, SuperInitMissing
from gradlint.domain.state import State
from gradlint.domain.value import Function, Instance, Mapping, Ref, Sequence, Tensor, Value
from gradlint.domain.walk import inputs, leaves
from gradlint.facts.traits import FACTORIES
from gradlint.interpreter.args import Args
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.torch import faults
from gradlint.interpreter.torch.parameters import is_module, modules_of, parameters_of
from gradlint.source.lower.syntax import parts

UNINITIALISED = "<uninitialised>"
"""The mark, in a module's configuration, that `nn.Module.__init__` has not run yet."""

_OWN_REGISTRY = ("parameters", "named_parameters", "modules", "named_modules", "children", "__setattr__")
"""A class that defines one of these says itself what its parameters are."""


def attribute_set(
    machine: Machine, state: State, obj: Ref, record: Instance, name: str, value: Value, node: cst.CSTNode
) -> None:
    """obj.name = value for a module: look for what torch will not find among its parameters."""
    if name in FLAGS and isinstance(value, bool):
        _flag(machine, state, obj, record, name, node)
    if not isinstance(value, Ref):
        return
    new = state.heap.get(value.id)
    if UNINITIALISED in record.config and (is_module(state, value) or (isinstance(new, Tensor) and new.parameter)):
        refuse_uninitialised(machine, state, obj, record, node)
    elif isinstance(new, (Sequence, Mapping)):
        machine.holdings.placed[obj.id, name] = node
    elif isinstance(new, Tensor) and not new.parameter and _building(machine):
        if new.leaf is True and new.grad is True:
            _plain_leaf(machine, value, new, name, node)
        elif new.leaf is not True:
            _moved_parameter(machine, state, new, name, node)


FLAGS = frozenset({"requires_grad", "require_grad", "requires_grads", "require_grads"})
"""Attributes that people set to freeze a module; torch looks at none of them."""


def _flag(machine: Machine, state: State, obj: Ref, record: Instance, name: str, node: cst.CSTNode) -> None:
    """module.requires_grad = False; a class of the program may have an attribute of that name for itself."""
    if _receiver(state) == obj:
        return
    known = name in record.attrs and obj.id not in machine.holdings.flagged
    if not known and find_in_class(state, record.cls, name) is None:
        machine.holdings.flagged.add(obj.id)
        faults.noticed(machine, "module-flag", node, name)


def _receiver(state: State) -> Ref | None:
    """The object whose method is running."""
    function = state.locals.get("<function>")
    if isinstance(function, Function) and function.owner is not None and function.code.params:
        receiver = state.locals.get(function.code.params[0].name)
        return receiver if isinstance(receiver, Ref) else None
    return None


def refuse_uninitialised(machine: Machine, state: State, obj: Ref, record: Instance, node: cst.CSTNode) -> None:
    """A module does something that needs `nn.Module.__init__` to have run; said once of an object."""
    method = find_in_class(state, record.cls, "__init__")
    machine.emit(SuperInitMissing(node, method.code.node if isinstance(method, Function) else None))
    config = {name: value for name, value in record.config.items() if name != UNINITIALISED}
    state.put(obj.id, record._replace(config=config))


def _building(machine: Machine) -> bool:
    """Whether a constructor is running."""
    return any(code.name == "__init__" for code in machine.stack)


# Tensors that are no parameters.

_MAKING = FACTORIES | {"normal", "FloatTensor", "Tensor"}
"""What makes a tensor of sizes or constants, as the source names it."""


def _plain_leaf(machine: Machine, ref: Ref, record: Tensor, name: str, node: cst.CSTNode) -> None:
    """A leaf that requires grad and is no parameter; a fault if it is used, and nobody trains it otherwise."""
    if record.node.leaf == ref.id and not machine.expected and _made_of_sizes(record.node.syntax, record):
        _doubt_plain(machine, record, name, node)


def _doubt_plain(machine: Machine, leaf: Tensor, name: str, node: cst.CSTNode) -> None:
    """A module has a leaf, or what was computed from it, under a name, and torch does not know of it."""
    assert leaf.node.leaf is not None
    event = Noticed(node, "tensor-not-parameter", name, ((leaf.node.syntax, "the tensor is made here"),))
    machine.holdings.doubts.append(Doubt(frozenset({leaf.node.leaf}), event, used=True))


def _made_of_sizes(made: cst.CSTNode, record: Tensor) -> bool:
    """Whether a tensor is made as a parameter is, from sizes or constants: one that holds data is an input."""
    names = {call.func.attr.value for call in _calls(made) if isinstance(call.func, cst.Attribute)}
    names |= {call.func.value for call in _calls(made) if isinstance(call.func, cst.Name)}
    if names & _MAKING:
        return True
    return "tensor" in names and record.shape is not None and all(isinstance(size, int) for size in record.shape)


def _calls(node: cst.CSTNode) -> Iterator[cst.Call]:
    if isinstance(node, cst.Call):
        yield node
    for child in parts(node):
        yield from _calls(child)


def _moved_parameter(machine: Machine, state: State, record: Tensor, name: str, node: cst.CSTNode) -> None:
    """The result of an operation on a parameter that nothing else holds: torch registers neither."""
    value = getattr(node, "value", None)
    if not isinstance(value, cst.CSTNode) or not (record.node.tracked or _is_move(record.node.syntax)):
        return
    calls = set(_calls(value))
    for leaf in _leaves_behind(state, record.node):
        made = leaf.node.syntax
        if made in calls and leaf.parameter:
            machine.emit(ParameterMoved(node, name, made))
            return
        plain = made in calls and leaf.grad is True and not _is_move(record.node.syntax)
        if plain and made not in machine.holdings.offered and _made_of_sizes(made, leaf):
            _doubt_plain(machine, leaf, name, node)
            return


def parameter_registered(machine: Machine, state: State, value: Value, node: cst.CSTNode) -> None:
    """register_parameter(name, value): torch refuses what is no parameter."""
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    if isinstance(record, Tensor) and not record.parameter and record.node.tracked is True:
        for made in _parameters_behind(state, record.node):
            machine.emit(NoParameterRegistered(node, made))
            return


def _is_move(node: cst.CSTNode) -> bool:
    """Whether a call moves a tensor to a device, so that it is another tensor on all devices but one."""
    return isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and node.func.attr.value in _MOVES


_MOVES = frozenset({"to", "cuda"})


def _parameters_behind(state: State, node: Node) -> Iterator[cst.CSTNode]:
    """Where the parameters were made that a value was computed from."""
    return (leaf.node.syntax for leaf in _leaves_behind(state, node) if leaf.parameter)


def _leaves_behind(state: State, node: Node) -> Iterator[Tensor]:
    """The leaves that a value was computed from."""
    for leaf in leaves([node], inputs):
        record = state.heap.get(leaf.leaf) if leaf.leaf is not None else None
        if isinstance(record, Tensor):
            yield record


# Modules that are called and not registered.


def module_called(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """A module of which torch does not know is called in a method of another while gradients are recorded."""
    called = state.heap.get(ref.id)
    if isinstance(called, Instance) and UNINITIALISED in called.config:
        refuse_uninitialised(machine, state, ref, called, node)
    owner = _receiver(state)
    if state.grad is not True or machine.expected or owner is None:
        return
    if owner.id >= ref.id or not is_module(state, owner):
        return
    record = state[owner]
    assert isinstance(record, Instance)
    if "<loose>" in record.config or not is_module(state, ref):
        return
    name = _plain_holder(state, record, ref)
    if name is not None:
        _in_container(machine, state, owner, record, ref, name, node)
    elif _is_forward(machine) and ref.id > state.frame and not _registered(state, owner, ref):
        _built_in_forward(machine, state, ref, node)


def _registered(state: State, owner: Ref, ref: Ref) -> bool:
    return any(module == ref for module, _ in modules_of(state, owner))


def _plain_holder(state: State, record: Instance, ref: Ref) -> str | None:
    """The attribute whose plain list, tuple or dict holds a module."""
    for name, value in record.attrs.items():
        if any(item == ref for item in _contents(state, value, 2)):
            return name
    return None


def _contents(state: State, value: Value, depth: int) -> Iterator[Value]:
    items: tuple[Value, ...] = ()
    if type(value) is tuple:
        items = value
    elif isinstance(value, Ref):
        record = state.heap.get(value.id)
        if isinstance(record, Sequence):
            items = record.items
        elif isinstance(record, Mapping):
            items = tuple(record.items.values())
    for item in items:
        yield item
        if depth:
            yield from _contents(state, item, depth - 1)


def _in_container(
    machine: Machine, state: State, owner: Ref, record: Instance, ref: Ref, name: str, node: cst.CSTNode
) -> None:
    own = isinstance(record.cls, Ref) and any(find_in_class(state, record.cls, one) for one in _OWN_REGISTRY)
    trained = _trained(state, ref)
    is_open = any(module.open for _, module in modules_of(state, ref))
    if own or is_open or not trained or _registered(state, owner, ref):
        return
    made = state[ref]
    assert isinstance(made, Instance)
    place = machine.holdings.placed.get((owner.id, name)) or made.syntax or node
    related = [(node, "it is called here")]
    if made.syntax is not None:
        related.insert(0, (made.syntax, "a module in it is made here"))
    event = Noticed(place, "module-in-container", name, tuple(related))
    machine.holdings.doubts.append(Doubt(trained, event))


def doubt_listed_parameters(machine: Machine, state: State, root: Ref) -> None:
    """Parameters in a plain container of a module: a fault if they get gradients, and no optimizer holds them."""
    for owner, record in list(modules_of(state, root)):
        own = isinstance(record.cls, Ref) and any(find_in_class(state, record.cls, one) for one in _OWN_REGISTRY)
        if own or "<loose>" in record.config:
            continue
        for name, value in record.attrs.items():
            leaves = [one for one in _contents(state, value, 1) if _is_parameter(state, one)]
            fresh = [one.id for one in leaves if isinstance(one, Ref) and one.id > owner.id]
            whole = fresh and len(fresh) == len(leaves) and not name.startswith("<")
            if whole and not _registers(state, owner, fresh):
                _doubt_listed(machine, state, owner, name, fresh)


def _registers(state: State, owner: Ref, leaves: list[int]) -> bool:
    """Whether a module, or one that is registered in it, has one of these for a parameter."""
    return any(parameter.id in leaves for _, parameter in parameters_of(state, owner)[0])


def _is_parameter(state: State, value: Value) -> bool:
    record = state.heap.get(value.id) if isinstance(value, Ref) else None
    return isinstance(record, Tensor) and record.parameter and record.grad is True


def _doubt_listed(machine: Machine, state: State, owner: Ref, name: str, leaves: list[int]) -> None:
    made = state.heap[leaves[0]]
    assert isinstance(made, Tensor)
    place = machine.holdings.placed.get((owner.id, name)) or made.node.syntax
    event = Noticed(place, "module-in-container", name, ((made.node.syntax, "a parameter in it is made here"),))
    machine.holdings.doubts.append(Doubt(frozenset(leaves), event, used=True))


def _is_forward(machine: Machine) -> bool:
    """Whether `forward` runs, or a method that it calls."""
    return any(code.name == "forward" for code in machine.stack[-2:])


def _built_in_forward(machine: Machine, state: State, ref: Ref, node: cst.CSTNode) -> None:
    """A module whose weights are new at each call; weights that the program writes are a fixed filter.

    A slice of a registered container is a new module around weights that are there already, and a copy has the values
    of what it was copied from.
    """
    trained = frozenset(leaf for leaf in _trained(state, ref) if leaf > state.frame)
    record = state[ref]
    assert isinstance(record, Instance)
    if not trained or record.syntax is None or record.open or _is_filled(state, record, trained):
        return
    event = Noticed(record.syntax, "module-built-in-forward", "", ((node, "it is called here"),))
    machine.holdings.doubts.append(Doubt(trained, event))


def _trained(state: State, ref: Ref) -> frozenset[int]:
    """The parameters of a module that require grad."""
    found = (state.heap[parameter.id] for _, parameter in parameters_of(state, ref)[0])
    return frozenset(one.node.leaf for one in found if isinstance(one, Tensor) and one.grad and one.node.leaf)


def _is_filled(state: State, record: Instance, leaves: frozenset[int]) -> bool:
    """Whether a module has been copied from another, or the program has put values of its own into it."""
    for leaf in leaves:
        tensor = state.heap[leaf]
        assert isinstance(tensor, Tensor)
        if any(edge.cut == "copy" for edge in tensor.node.edges):
            return True
        if state.writes(tensor.counter) or state.writes(tensor.memory):
            return True
    of_torch = not isinstance(record.cls, Ref)
    own = (value for value in record.attrs.values() if isinstance(value, Ref) and value.id in leaves)
    return of_torch and any(getattr(state.heap[value.id], "syntax", None) is not record.syntax for value in own)


# Modes that a function does not know of.


def note_dropout(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> None:
    """F.dropout in a module's method drops in evaluation too, unless it is told or the method asks for the mode."""
    owner = _receiver(state)
    if owner is None or args.open or args.has(2, "training") or args.get(1, "p", 0.5) in (0, 0.0):
        return
    if is_module(state, owner) and not _asks_for_mode(machine.stack[-1].node):
        faults.noticed(machine, "functional-dropout-always-on", node)


def _asks_for_mode(node: cst.CSTNode) -> bool:
    """Whether a test in a function reads `training`, so that what it guards may run in training only."""
    if isinstance(node, (cst.If, cst.IfExp)) and _reads_mode(node.test):
        return True
    return any(_asks_for_mode(child) for child in parts(node))


def _reads_mode(node: cst.CSTNode) -> bool:
    name = node.attr if isinstance(node, cst.Attribute) else node
    if isinstance(name, cst.Name) and name.value == "training":
        return True
    return any(_reads_mode(child) for child in parts(node))
