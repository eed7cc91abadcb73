"""Placeholders of networks and losses that a file uses and does not show: see `fragment`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType

import libcst as cst

from gradlint.domain.announcement import NetworkSupposed
from gradlint.domain.assumption import Assumption
from gradlint.domain.graph import DATA, SUPPOSED_CALL, Edge, Node, Saved
from gradlint.domain.state import MISSING, State, fresh_address
from gradlint.domain.value import Args, External, Function, Instance, ModuleState, Ref, Tensor, Unknown, Value
from gradlint.interpreter.escape import origins
from gradlint.interpreter.libraries.accelerate import new_engine
from gradlint.interpreter.libraries.model_zoos import flag_of_leaf, leaf_of, new_network
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class
from gradlint.interpreter.reachable import all_attributes, contents
from gradlint.interpreter.torch.inplace import saved_now
from gradlint.interpreter.torch.optim import supposed_optimizer
from gradlint.interpreter.torch.parameters import is_module, members_of, parameters_of
from gradlint.interpreter.torch.scaler import new_helper
from gradlint.interpreter.torch.tensor import NO_TENSOR, SCALAR, either, new_tensor, tensor_at
from gradlint.interpreter.world import guesses
from gradlint.interpreter.world.fragment import OF_GRAPHS, UNSEEN, Supposed, is_untyped
from gradlint.interpreter.world.names import Names, attribute_of, owner_of, spelled
from gradlint.source.lower.syntax import called_name, nodes_of


def supposed_network(
    machine: Machine, state: State, torn: Mapping[cst.CSTNode, tuple[bool, ...]], node: cst.CSTNode
) -> Ref:
    """Return a network with parameters that require grad, and that may have gradients already."""
    ref = new_network(machine, state, node)
    record = state.at(ref, Instance)
    for leaf in leaves_of(state, ref):
        made = tensor_at(state, leaf)
        state.put(leaf.id, made._replace(accumulated=Unknown("gradient")))
    machine.announce(state, NetworkSupposed(node, leaves_of(state, ref)))
    state.put(ref.id, record._replace(module=record.module._replace(torn=torn)))
    return ref


def supposed_loss(state: State, torn: Mapping[cst.CSTNode, tuple[bool, ...]], node: cst.CSTNode) -> Ref:
    """Return a function of tensors that a gradient flows through."""
    return state.new(Instance(External("torch.nn.Module"), {}, {}, False, node, ModuleState(torn=torn)))


def leaves_of(state: State, ref: Ref) -> tuple[Ref, ...]:
    """Return the leaf that stands for all parameters of a network."""
    record = state[ref]
    leaf = leaf_of(record) if isinstance(record, Instance) and record.module.foreign else None
    return (leaf,) if isinstance(leaf, Ref) else ()


def _may_have_a_graph(state: State, args: Args) -> bool:
    """Return whether a result may have a graph, though none of the arguments is known to have one.

    What gets data alone has the network, as `criterion(batch)`.
    """
    own = all(one.op == DATA and not one.edges for one in origins(state, args.values()))
    return own or args.open or any(_may_bring_a_graph(state, value) for value in args.values())


def _may_bring_a_graph(state: State, value: Value) -> bool:
    """Return whether nothing at all is known of an argument: not that it is a number, nor what it was computed from."""
    bare = isinstance(value, Unknown) and value.origin is None and value.kind not in NO_TENSOR
    return bare and ("tensor", value) not in state.facts


def call_supposed(machine: Machine, state: State, ref: Ref, record: Instance, args: Args, node: cst.CSTNode) -> Value:
    """Call what a free name stands for: it is taken to use all its arguments, and to keep what it needs."""
    found = [origin for origin in origins(state, (ref, *args.values())) if origin.live]
    if state.grad is not True:
        blocked = state.unrecorded()
        place = None if blocked is None else blocked.syntax
        edges = [Edge(origin, False if state.grad is False else None, "no_grad") for origin in found]
        made = Node("call", node, edges, tracked=state.grad, cut="no_grad", place=place)
    else:
        edges = [
            Edge(origin, origin.tracked if origin.leaf is None else flag_of_leaf(state, origin)) for origin in found
        ]
        tracked = either(edge.flows for edge in edges) if edges else None
        if tracked is False and _may_have_a_graph(state, args):
            tracked = None
        op = SUPPOSED_CALL + (called_name(node) or "a network")
        saved = _kept(machine, state, ref, found)
        made = Node(op, node, edges, tracked=tracked, saved=saved, maybe_saved=True, frees=tracked)
    torn = record.module.torn
    pieces = () if torn is None else torn.get(node)
    if record.module.foreign:
        return _in_pieces(state, made, pieces, node)
    if pieces is None:
        single = new_tensor(state, made, grad=made.tracked)
        state.put(single.id, tensor_at(state, single)._replace(tags=frozenset({SCALAR})))
        return single
    if len(pieces) > 1 and any(pieces):
        return tuple(_apart(state, made, one, node) for one in pieces)
    return _in_pieces(state, made, pieces, node)


def _kept(machine: Machine, state: State, ref: Ref, found: Iterable[Node]) -> tuple[Saved, ...]:
    """Return what the call of a network keeps of it, if a gradient flows on to an argument: its parameters."""
    own = leaves_of(state, ref) if any(one.leaf is None and one.tracked is True for one in found) else ()
    return tuple(saved_now(machine, state, one, "weight")._replace(memory=fresh_address(), hidden=0) for one in own)


def _in_pieces(state: State, made: Node, pieces: tuple[bool, ...] | None, node: cst.CSTNode) -> Value:
    """Return what a call gives: one tensor, or the pieces that the file takes it to, which are tensors where True."""
    if pieces is None:
        return new_tensor(state, made, grad=made.tracked)
    known = [new_tensor(state, made, grad=made.tracked) if one else Unknown(None, made, None, node) for one in pieces]
    return tuple(known) if any(pieces) else Unknown(None, made, None, node)


def suppose_graph(
    machine: Machine,
    state: State,
    network: Value,
    value: Value,
    args: Args,
    node: cst.CSTNode,
    *,
    kept: bool = True,
) -> Value:
    """Return what the call of a network gives: computed from its parameters, where this is not known.

    `kept`: the graph has saved tensors, as that of a whole network has.
    """
    record = state.heap.get(network.id) if isinstance(network, Ref) else None
    if not isinstance(network, Ref) or not isinstance(record, Instance) or not is_module(state, network):
        return value
    if not machine.assumes or not machine.program.may_backpropagate or state.grad is not True or not _is_lost(value):
        return value
    given = [parameter for _, parameter in parameters_of(state, network)[0]]
    found = {tensor_at(state, one).node: None for one in given} | dict.fromkeys(origins(state, (value, *args.values())))
    edges = [Edge(one, one.tracked if one.leaf is None else flag_of_leaf(state, one)) for one in found]
    name = called_name(node)
    if not any(edge.flows for edge in edges) or guesses.gives_members(name):
        return value
    machine.assume(Assumption("use", f"{name}(...)", "computed from the parameters", node))
    made = Node(SUPPOSED_CALL + name, node, edges, tracked=True, maybe_saved=kept, frees=kept)
    return _in_pieces(state, made, machine.program.fragment_at(state).torn.get(node), node)


def _is_lost(value: Value) -> bool:
    """Return whether it is not known of a result what it was computed from."""
    return isinstance(value, Unknown) and value.kind is None and (value.origin is None or value.origin.tracked is None)


def _apart(state: State, made: Node, is_tensor: bool, node: cst.CSTNode) -> Value:
    """Return one of several losses: what of the arguments it is computed from, and how, only the loss knows."""
    edges = [edge._replace(flows=None if edge.flows else edge.flows) for edge in made.edges]
    tracked = None if made.tracked else made.tracked
    own = Node("call", node, edges, tracked=tracked, cut=made.cut, place=made.place)
    return new_tensor(state, own, grad=tracked) if is_tensor else Unknown(None, own, None, node)


def supposed_value(machine: Machine, state: State, frame: int, name: str) -> Value:
    """Return what a free name is supposed to be, made at the first look; None where nothing says."""
    if not machine.assumes:
        return None
    fragment = machine.program.fragment
    path = fragment.customs.get(name)
    if path is not None:
        machine.assume(Assumption("name", name, f"`{path}`", fragment.free[name]))
        return machine.program.external(path)
    if name in fragment.makers:
        machine.assume(Assumption("use", name, "the class of a network", fragment.free[name]))
        return machine.program.external(UNSEEN + name)
    if name not in fragment.names:
        return None
    made = _placeholders(machine, state, fragment)
    for free, value in made.items():
        if free not in state.frames[frame].names:
            state.set_in(frame, free, value)
    return made.get(name)


def supposed_arguments(
    machine: Machine,
    state: State,
    where: cst.CSTNode,
    function: Function,
    *,
    trains: bool = False,
    options: bool = False,
) -> dict[str, Value]:
    """Return what the parameters of a function or a constructor are supposed to be that backpropagates a loss.

    `trains`: whoever calls the function backpropagates what it returns. `options`: also those that are None by default.
    """
    given = {name for name, default in function.defaults if default is not None or not options}
    free = {param.name: param.node for param in function.code.params if is_untyped(param) and param.name not in given}
    if not free or not machine.assumes or not (trains or where in machine.program.backpropagating):
        return {}
    names = Names(where)
    parts = {one: uses.first for one, uses in names.uses.items() if owner_of(one) in free.keys() - {"self", "cls"}}
    made = _placeholders(machine, state, Supposed(names, {**free, **parts}))
    for place in [one for one in parts if one in made]:
        part, owner = made.pop(place), made.setdefault(owner_of(place), Unknown(syntax=free[owner_of(place)]))
        _put_part(state, owner, attribute_of(place), part)
    for name, node in free.items() if isinstance(where, cst.FunctionDef) else ():
        is_input = name not in made and guesses.is_input(name) and not names.uses_of(name).attributes & OF_GRAPHS
        if is_input and not _is_fixture(machine, name):
            machine.assume(Assumption("name", name, "data, which has no graph", node))
            made[name] = Unknown(None, Node(DATA, node, tracked=False), None, node)
    return made


def _is_fixture(machine: Machine, name: str) -> bool:
    """Return whether a function of the file makes what pytest gives to the parameters of that name."""
    code = nodes_of(machine.program.nowhere)
    makers = (one for one in code if type(one) is cst.FunctionDef and one.name.value == name)
    decorators = [one.decorator for maker in makers for one in maker.decorators]
    called = (one.func if isinstance(one, cst.Call) else one for one in decorators)
    names = (one.attr if isinstance(one, cst.Attribute) else one for one in called)
    return any(isinstance(one, cst.Name) and one.value == "fixture" for one in names)


def _put_part(state: State, owner: Value, name: str, part: Value) -> None:
    """Let something that is supposed, or not known, have an attribute."""
    record = state.heap.get(owner.id) if isinstance(owner, Ref) else None
    if isinstance(owner, Ref) and isinstance(record, Instance):
        state.put(owner.id, record._replace(attrs={**record.attrs, name: part}))
    elif isinstance(owner, Unknown):
        state.decide(("set", owner, name), part)


def suppose_attributes(machine: Machine, state: State, made: Value) -> None:
    """Let attributes that are not known, of an object that nobody in sight makes, be what the file uses them as."""
    record = state.heap.get(made.id) if isinstance(made, Ref) else None
    if not isinstance(record, Instance) or not isinstance(made, Ref):
        return
    if not machine.assumes or not machine.program.may_backpropagate:
        return
    fragment = machine.program.fragment

    def is_open(place: str) -> bool:
        owner = owner_of(place)
        if owner != "self":
            return is_open(owner)
        name = attribute_of(place)
        value = record.attrs.get(name, MISSING)
        if value is MISSING:
            value = find_in_class(state, record.cls, name)  # What no class has, a subclass or a user sets.
        return _is_open(value)

    wanted = {place for place in fragment.attributes.names if is_open(place)}
    given = {f"self.{k}": v for k, v in record.attrs.items() if isinstance(v, Ref) and leaves_of(state, v)}
    values = _placeholders(machine, state, fragment.attributes.only(wanted), given) if wanted else {}
    for place in values.keys() & fragment.attributes.switched:
        _forget_flags(state, values[place])  # Another method may have switched it off.
    attrs = {attribute_of(place): value for place, value in values.items() if owner_of(place) == "self"}
    for place, value in values.items():
        if owner_of(place) != "self":
            name = attribute_of(owner_of(place))
            owner = attrs.setdefault(name, record.attrs.get(name, Unknown()))
            _put_part(state, owner, attribute_of(place), value)
    state.put(made.id, record._replace(attrs={**record.attrs, **attrs}))


def _forget_flags(state: State, network: Value) -> None:
    """Let it not be known whether the parameters of a network that is not shown require grad."""
    for leaf in leaves_of(state, network) if isinstance(network, Ref) else ():
        state.put(leaf.id, tensor_at(state, leaf)._replace(grad=None))


def _is_open(value: Value) -> bool:
    """Return whether it is not known what kind of value this is; a constructor's None is replaced before training."""
    return value is None or (isinstance(value, Unknown) and value.kind is None)


def _placeholders(
    machine: Machine, state: State, supposed: Supposed, given: Mapping[str, Ref] = MappingProxyType({})
) -> dict[str, Value]:
    """Return the placeholders of names, beside the networks that are `given`.

    An only optimizer trains all networks, of several each its own.
    """
    for assumption in supposed.assumptions:
        machine.assume(assumption)
    roles = supposed.roles
    networks = {
        name: supposed_network(machine, state, supposed.torn, node) for name, node in roles.get("a network", {}).items()
    }
    made: dict[str, Value] = {**networks}
    optimizers = roles.get("an optimizer", {})
    for name, node in optimizers.items():
        held = [
            one for other, one in {**networks, **given}.items() if len(optimizers) == 1 or guesses.belongs(name, other)
        ]
        leaves = tuple(leaf for one in held for leaf in leaves_of(state, one))
        made[name] = supposed_optimizer(machine, state, leaves, node)
    steppers = [made[name] for name in optimizers]
    for name, node in roles.get(_SCHEDULER, {}).items():
        made |= {name: _scheduler(state, steppers, node)} if len(steppers) == 1 else {}
    for role in roles.keys() - {"a network", "an optimizer", _SCHEDULER}:
        made |= {name: _of_role(state, role, supposed.torn, node) for name, node in roles[role].items()}
    return made


_SCHEDULER = "a learning rate scheduler"


def _scheduler(state: State, optimizers: Iterable[Value], node: cst.CSTNode) -> Ref:
    """Return a scheduler of one optimizer."""
    return new_helper(state, "torch.optim.lr_scheduler.LRScheduler", Args(tuple(optimizers)), node)


def _of_role(state: State, role: str, torn: Mapping[cst.CSTNode, tuple[bool, ...]], node: cst.CSTNode) -> Ref:
    """Return a placeholder that needs no other: of a loss function, a scaler, an engine."""
    if role == "a loss function":
        return supposed_loss(state, torn, node)
    if role == "a gradient scaler":
        return new_helper(state, "torch.amp.GradScaler", Args(), node)
    return new_engine(state, "accelerate.Accelerator" if role == "an Accelerator" else "lightning.Fabric", node)


def made_by_use(machine: Machine, state: State, given: Value, args: Args, node: cst.CSTNode) -> Value:
    """Return what an unknown call gives, by what the file does with it; `given` where nothing says."""
    if not machine.assumes or not machine.program.may_backpropagate:
        return given
    fragment = machine.program.fragment_at(state)
    if node in fragment.together:
        return _made_together(machine, state, given, args, node)
    assumption = fragment.made.get(node)
    return given if assumption is None else _supposed(machine, state, assumption, args.values(), node)


def taken_by_use(machine: Machine, state: State, given: Value, node: cst.CSTNode) -> Value:
    """Return what an item of something unknown is, by what the file does with it; `given` where nothing says.

    The only optimizer of the file holds the parameters of the object whose method takes it.
    """
    if not machine.assumes or not machine.program.may_backpropagate:
        return given
    made = machine.program.fragment_at(state).made
    if node not in made:
        return given
    optimizers = {one.subject for one in made.values() if one.role == "an optimizer"}
    held = (state.locals.get("self"),) if len(optimizers) == 1 else ()
    return _supposed(machine, state, made[node], held, node)


def _supposed(
    machine: Machine, state: State, assumption: Assumption, given: Iterable[Value], node: cst.CSTNode
) -> Value:
    """Return what a call gives by an assumption; an optimizer holds the parameters in what is given.

    A scheduler is one of the only optimizer that is given.
    """
    if assumption.role == _SCHEDULER:
        steppers = [one for one in given if isinstance(one, Ref) and members_of(state, one)]
        if len(steppers) != 1:
            return Unknown(syntax=node)
        machine.assume(assumption)
        return _scheduler(state, steppers, node)
    machine.assume(assumption)
    torn = machine.program.fragment_at(state).torn
    if assumption.role == "a network":
        return supposed_network(machine, state, torn, node)
    if assumption.role != "an optimizer":
        return _of_role(state, assumption.role, torn, node)
    reached = contents(state, given, all_attributes, calls=True)
    held = [one for one in reached if isinstance(one, Ref) and _is_parameter(state, one)]
    return supposed_optimizer(machine, state, tuple(held), node)


def _made_together(machine: Machine, state: State, given: Value, args: Args, node: cst.CSTNode) -> Value:
    """Return what an unknown call gives that is unpacked: what it was given under the same name, or each by its use.

    `model, optimizer, loader = wrap(model, optimizer, loader)` gives back what it gets.
    """
    plain = isinstance(node, cst.Call) and not any(one.star or one.keyword for one in node.args)
    names = [spelled(one.value) for one in node.args] if isinstance(node, cst.Call) and plain else []
    former = dict(zip(names, args.positional, strict=False))
    origin = given.origin if isinstance(given, Unknown) else None
    made: list[Value] = []
    for part in machine.program.fragment_at(state).together[node]:
        known = former.get(part.subject if isinstance(part, Assumption) else part)
        if isinstance(known, Ref):
            made.append(known)
        elif isinstance(part, Assumption):
            made.append(_supposed(machine, state, part, (*args.values(), *made), node))
        else:
            made.append(Unknown(None, origin, None, node))
    return tuple(made)


def _is_parameter(state: State, ref: Ref) -> bool:
    record = state.heap.get(ref.id)
    return isinstance(record, Tensor) and record.parameter


def make_unseen(machine: Machine, state: State, node: cst.CSTNode) -> Value:
    """Return what a call gives that a file makes a network by: a network."""
    return supposed_network(machine, state, machine.program.fragment.torn, node)
