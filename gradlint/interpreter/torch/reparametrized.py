"""Tensors of a module that are computed from others: parametrizations, norms of weights, pruning (`torch.nn.utils`).

In the place of such a tensor stands a mark, and what it is computed from is registered as torch does: as
`parametrizations.weight.original`, or `weight_g` and `weight_v`, or `weight_orig`. Whoever reads the tensor, computes
it. Measured with torch 2.13: `weight_norm`, `spectral_norm` and pruning keep the tensor as an attribute, which the next
call of the module computes anew; a parametrization computes it each time that it is read.
"""

from __future__ import annotations

from typing import NamedTuple

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.modules import ReparametrizationMismatch, UninitializedUsed
from gradlint.domain.shape import Shape
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    External,
    Instance,
    Ref,
    Tensor,
    Unknown,
    Value,
)
from gradlint.facts import fact
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.classes import find_in_class, has_unknown_base
from gradlint.interpreter.torch.apply import apply
from gradlint.interpreter.torch.parameters import module_base
from gradlint.interpreter.torch.tensor import (
    UNINITIALIZED,
    both,
    either,
    known_tensor,
    new_leaf,
    new_tensor,
    tensor_at,
    unknown_tensor,
)

_COMPUTED = "computed"


class Way(NamedTuple):
    """How a tensor of a module is computed: by which function, and since which call of it.

    `kept`: it is an attribute, computed with grad mode on.
    """

    by: str
    syntax: cst.CSTNode
    kept: bool


def mark(state: State, by: str, syntax: cst.CSTNode) -> Unknown:
    kept = state.grad is True and (by == "weight_norm" or by in PRUNING)
    return Unknown("tensor", key=(_COMPUTED, Way(by, syntax, kept)))


def way_of(value: Value) -> Way | None:
    """Return how a tensor of a module is computed; None for any other value."""
    way = value.key[1] if isinstance(value, Unknown) and value.key is not None and value.key[0] == _COMPUTED else None
    return way if isinstance(way, Way) else None


def note_call(state: State, module: Ref, name: str) -> None:
    """A module is called: the hooks compute its tensor anew."""
    record = state.at(module, Instance)
    way = way_of(record.attrs.get(name))
    if way is not None:
        state.put(module.id, record._replace(attrs={**record.attrs, name: mark(state, way.by, way.syntax)}))


def kept_result(state: State, module: Ref) -> cst.CSTNode | None:
    """Return since which call a module keeps a tensor that is computed with a graph, as far as that is certain."""
    record = state.at(module, Instance)
    if not isinstance(record.cls, External) or module.id <= state.escaped or record.module.loose:
        return None
    for name, value in record.attrs.items():
        way = way_of(value)
        source = record.attrs.get(f"{name}_v", record.attrs.get(f"{name}_orig"))
        tensor = state.heap.get(source.id) if isinstance(source, Ref) else None
        if way is not None and way.kept and isinstance(tensor, Tensor) and tensor.grad is True:
            return way.syntax
    return None


def computed(machine: Machine, state: State, module: Ref, name: str, node: cst.CSTNode) -> Value:
    """Return a tensor of a module that is computed, as reading it does."""
    record = state.at(module, Instance)
    way = way_of(record.attrs.get(name))
    assert way is not None
    if way.by == PARAMETRIZE:
        return parametrized(machine, state, record, name, node)
    if way.by in PRUNING:
        given = record.attrs.get(f"{name}_orig"), record.attrs.get(f"{name}_mask")
        entry = fact("mul")
        known = entry is not None and all(known_tensor(machine, state, one) is not None for one in given)
        return apply(machine, state, entry, Args(given), node) if known and entry is not None else Unknown()
    sources = [record.attrs.get(f"{name}_{suffix}") for suffix in SUFFIXES.get(way.by, ("orig",))]
    result = result_of(machine, state, way.by, sources, node)
    return result if way.by == "weight_norm" else _maybe_leaf(state, result, node)


def _maybe_leaf(state: State, result: Value, node: cst.CSTNode) -> Value:
    """Before the first call of the module, spectral_norm leaves the plain data in its place."""
    record = state.heap.get(result.id) if isinstance(result, Ref) else None
    origin = None if not isinstance(record, Tensor) else Node("call", node, [Edge(record.node, None)], tracked=None)
    return result if origin is None else unknown_tensor(state, node, origin)


SUFFIXES = {"weight_norm": ("g", "v")}


WITH_AMOUNT = frozenset({"random_unstructured", "l1_unstructured", "random_structured", "ln_structured"})
PRUNING = WITH_AMOUNT | {"identity", "custom_from_mask"}


def result_of(machine: Machine, state: State, op: str, sources: list[Value], node: cst.CSTNode) -> Value:
    """Return a tensor that is computed from others, and has size and type of the last of them."""
    found = [ref for one in sources if (ref := known_tensor(machine, state, one)) is not None]
    records = [tensor_at(state, one) for one in found]
    if len(found) != len(sources) or not records:
        return Unknown()
    tracked = both(either(one.grad for one in records), state.grad)
    made = Node(op, node, [Edge(one.node, one.grad) for one in records], tracked=tracked, maybe_saved=True)
    return new_tensor(state, made, grad=tracked, dtype=records[-1].dtype, shape=records[-1].shape)


PARAMETRIZE = "register_parametrization"


def parametrized(machine: Machine, state: State, record: Instance, name: str, node: cst.CSTNode) -> Value:
    """Return what the parametrizations of a tensor make of what is registered in its place."""
    known = list_of(state, record, name)
    if known is None:
        return Unknown()
    kept = state.at(known, Instance).attrs
    value: tuple[Value, ...] = tuple(one for key, one in kept.items() if key.startswith("original"))
    for step in [one for key, one in kept.items() if key.isdigit()]:
        value = (run_step(machine, state, step, value, node),)
    return value[0]


def run_step(machine: Machine, state: State, step: Value, given: tuple[Value, ...], node: cst.CSTNode) -> Value:
    """Return what one parametrization makes of its inputs."""
    record = state.heap.get(step.id) if isinstance(step, Ref) else None
    path = record.cls.path if isinstance(record, Instance) and isinstance(record.cls, External) else ""
    if path.startswith(OWN):
        return result_of(machine, state, path.removeprefix(OWN), list(given), node)
    return machine.call(state, step, Args(given), node)


OWN = "torch.nn.utils.parametrizations._"
"""What the classes of torch's own parametrizations begin with."""


def list_of(state: State, record: Instance, name: str) -> Ref | None:
    """Return the list of the parametrizations of a tensor."""
    lists = record.attrs.get("parametrizations")
    holder = state.heap.get(lists.id) if isinstance(lists, Ref) else None
    found = holder.attrs.get(name) if isinstance(holder, Instance) else None
    return found if isinstance(found, Ref) and isinstance(state.heap.get(found.id), Instance) else None


class Place(NamedTuple):
    """A module, the name of a tensor in it, and what stands there. `loose`: it may have been something else."""

    module: Ref
    name: str
    value: Value
    loose: bool


def place_of(machine: Machine, state: State, module: Value, name: Value, by: str, node: cst.CSTNode) -> Place | None:
    """Return the tensor of a module that a function of `torch.nn.utils` is given, where that is known.

    What lacks it is refused; what is not known may have changed.
    """
    record = state.heap.get(module.id) if isinstance(module, Ref) else None
    if not isinstance(module, Ref) or not isinstance(record, Instance) or module_base(state, record) is None:
        return None
    if not isinstance(name, str):
        forget(state, module, record, None)
        return None
    value = record.attrs.get(name)
    tensor = state.heap.get(value.id) if isinstance(value, Ref) else None
    # Who has the module may have done it, or undone it; and a block of `try` may ask by doing it.
    elsewhere = module.id <= state.escaped or module.id in machine.escaped or machine.tried > 0
    # The path may be one on which no such module comes here.
    asked = state.facts.get(machine.symbol("hasattr", module, name, kind="bool")) is True
    loose = record.open or record.module.loose or record.module.foreign or elsewhere or asked
    if way_of(value) is not None or isinstance(tensor, Tensor):
        if isinstance(tensor, Tensor) and by and UNINITIALIZED in tensor.tags and module.id > state.escaped:
            machine.emit(UninitializedUsed(node, by, tensor.syntax))
            return None
        return Place(module, name, value, loose)
    unknown_class = isinstance(record.cls, Ref) and (
        has_unknown_base(state, record.cls) or find_in_class(state, record.cls, name) is not None
    )
    if by and name not in record.attrs and not loose and not unknown_class and not record.module.uninitialised:
        machine.emit(ReparametrizationMismatch(node, "missing", by, name))
    else:
        forget(state, module, record, name)
    return None


def read_place(machine: Machine, state: State, place: Place, node: cst.CSTNode) -> Value:
    """Return the tensor of a module, computed or not."""
    is_computed = way_of(place.value) is not None
    return computed(machine, state, place.module, place.name, node) if is_computed else place.value


def loosen(state: State, place: Place) -> Value:
    forget(state, place.module, state.at(place.module, Instance), place.name)
    return place.module


def forget(state: State, module: Ref, record: Instance, name: str | None) -> None:
    """What is registered in a module in the place of a tensor is not known."""
    attrs = {key: value for key, value in record.attrs.items() if key != name}
    state.put(module.id, record._replace(attrs=attrs, open=True, module=record.module._replace(loose=True)))


def fresh_parameter(state: State, former: Tensor, shape: Shape, name: str, node: cst.CSTNode) -> Ref:
    """Return a parameter of which one that was before is computed."""
    made = new_leaf(state, node, dtype=former.dtype, shape=shape, parameter=True, tags=former.tags, name=name)
    state.put(made.id, tensor_at(state, made)._replace(grad=former.grad, parameter=former.parameter))
    return made


def restore(machine: Machine, state: State, place: Place, sources: list[Value], node: cst.CSTNode) -> Value:
    """Put a parameter in the place of what was computed."""
    found = [ref for one in sources if (ref := known_tensor(machine, state, one)) is not None]
    if not found:
        return loosen(state, place)
    record = state.at(place.module, Instance)
    kept = {one.id for one in found}
    attrs = {key: value for key, value in record.attrs.items() if not (isinstance(value, Ref) and value.id in kept)}
    lists = attrs.get("parametrizations")
    if isinstance(lists, Ref):
        holder = state.at(lists, Instance)
        rest = {key: value for key, value in holder.attrs.items() if key != place.name}
        state.put(lists.id, holder._replace(attrs=rest))
        if not rest:
            del attrs["parametrizations"]
    attrs.pop(f"{place.name}_mask", None)
    last = tensor_at(state, found[-1])
    attrs[place.name] = found[0] if len(found) == 1 else fresh_parameter(state, last, last.shape, place.name, node)
    state.put(place.module.id, record._replace(attrs=attrs))
    if len(found) == 1:
        state.put(found[0].id, tensor_at(state, found[0])._replace(syntax=node))
    return place.module


def refuse_undoing(machine: Machine, state: State, place: Place, by: str, node: cst.CSTNode) -> Value:
    """What is to be undone was never done; said where it has not been undone by the same call, as in a loop."""
    tensor = known_tensor(machine, state, place.value)
    if tensor is not None and tensor_at(state, tensor).syntax is not node and not place.loose:
        machine.emit(ReparametrizationMismatch(node, "absent", by, place.name))
    return place.module
