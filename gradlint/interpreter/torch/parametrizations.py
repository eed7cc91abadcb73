"""`torch.nn.utils.parametrize` and `parametrizations`: a tensor of a module is computed each time that it is read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import libcst as cst

from gradlint.domain.dtype import same_dtype
from gradlint.domain.graph import Node
from gradlint.domain.refusal.modules import ReparametrizationMismatch, Unfit
from gradlint.domain.shape import Shape, same_shape
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Bound,
    Context,
    External,
    Function,
    Instance,
    Ref,
    Tensor,
    Unknown,
    Value,
)
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.classes import find_in_class, has_unknown_base
from gradlint.interpreter.python.contexts import enter_mode, leave_mode
from gradlint.interpreter.reachable import all_attributes, contents, known_items
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.parameters import PARAMETRIZATIONS, is_module
from gradlint.interpreter.torch.reparametrized import (
    OWN,
    PARAMETRIZE,
    Place,
    forget,
    fresh_parameter,
    list_of,
    loosen,
    mark,
    place_of,
    read_place,
    refuse_undoing,
    restore,
    run_step,
    way_of,
)
from gradlint.interpreter.torch.tensor import known_tensor, new_tensor, nontensor, tensor_at

_LIST = External(PARAMETRIZATIONS)


def register_parametrization(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """register_parametrization(module, tensor_name, parametrization, *, unsafe=False)"""
    unsafe = args.keywords.get("unsafe", False) if not args.open else None
    return _register(machine, state, args, args.get(2, "parametrization"), unsafe, PARAMETRIZE, node)


def _register(
    machine: Machine, state: State, args: Args, step: Value, unsafe: Value, by: str, node: cst.CSTNode
) -> Value:
    module, name = args.get(0, "module"), args.get(1, "tensor_name", args.keywords.get("name", "weight"))
    place = place_of(machine, state, module, name, by, node)
    if place is None:
        return module
    way, known = way_of(place.value), list_of(state, state.at(place.module, Instance), place.name)
    if way is not None and way.by != PARAMETRIZE:
        machine.emit(ReparametrizationMismatch(node, "taken", by, place.name))
        return module
    former = known_tensor(machine, state, read_place(machine, state, place, node))
    if former is None or (way is not None and known is None):
        return loosen(state, place)
    before = tensor_at(state, former)
    if way is not None:
        value = run_step(machine, state, step, (former,), node)
        reason = _unfit(machine, state, value, before) if unsafe is False else None
        if reason is None and unsafe is False:
            reason = _INVERSE.get(_unfit(machine, state, _inverted(machine, state, step, value, node), before))
        originals: Sequence[Value] = [former]
    else:
        inverted = _inverted(machine, state, step, former, node)
        found = _originals(machine, state, former, inverted, node)
        if isinstance(found, Misfit):
            machine.emit(ReparametrizationMismatch(node, found.reason, by, place.name))
            return module
        if found is None:
            return loosen(state, place)
        originals = found
        if _takes_other_number(machine, state, step, len(originals), node):
            return module
        value = run_step(machine, state, step, tuple(originals), node)
        reason = _unfit(machine, state, value, before) if unsafe is False else None
    if reason is not None:
        machine.emit(ReparametrizationMismatch(node, reason, by, place.name))
        return module
    _put_list(state, place, known, step, originals, node)
    return module


def _unfit(machine: Machine, state: State, value: Value, former: Tensor) -> Unfit | None:
    """Return how what a parametrization gives differs from what stood in its place; None if it may fit."""
    tensor = known_tensor(machine, state, value)
    if tensor is None:
        return "result" if value is None or nontensor(state, value) is not None else None
    record = tensor_at(state, tensor)
    if same_dtype(record.dtype, former.dtype) is False:
        return "dtype"
    return "shape" if same_shape(record.shape, former.shape) is False else None


_INVERSE: Mapping[Unfit | None, Unfit] = {
    "result": "inverse-one", "dtype": "inverse-dtype", "shape": "inverse-shape",
}  # fmt: skip
"""What does not fit of a second parametrization, whose inverse must give what it is given."""


def _inverted(machine: Machine, state: State, step: Value, tensor: Value, node: cst.CSTNode) -> Value:
    """Return what the inverse of a parametrization makes of a tensor: itself, if there is none."""
    inverse = _inverse_of(state, step)
    if inverse is None:
        return tensor
    if isinstance(inverse, str):  # Torch's own.
        record = known_tensor(machine, state, tensor)
        return tensor if inverse != "WeightNorm" or record is None else _norm_and_direction(state, record, node)
    saved = enter_mode(machine, state, Context("no_grad"))
    made = machine.call(state, inverse, Args((step, tensor)), node)
    leave_mode(state, saved)
    return made


def _norm_and_direction(state: State, tensor: Ref, node: cst.CSTNode) -> tuple[Value, ...]:
    record = tensor_at(state, tensor)
    sizes: Shape = None if record.shape is None else (*record.shape[:1], *((1,) * len(record.shape[1:])))
    return tuple(new_tensor(state, Node("norm", node), dtype=record.dtype, shape=one) for one in (sizes, record.shape))


class Misfit(NamedTuple):
    """Why torch refuses what the inverse of a parametrization gives."""

    reason: Unfit


def _originals(
    machine: Machine, state: State, tensor: Ref, inverted: Value, node: cst.CSTNode
) -> Sequence[Value] | Misfit | None:
    """Return what is registered in the place of a tensor, what torch refuses of it, or None if that is not known."""
    if inverted == tensor:
        return [tensor]
    if inverted is None or nontensor(state, inverted) in ("number", "dict"):
        return Misfit("inverse-kind")
    items = known_items(state, inverted)
    found = [known_tensor(machine, state, one) for one in ((inverted,) if items is None else items)]
    if items is not None and any(one is None or nontensor(state, one) is not None for one in items):
        return Misfit("inverse-kind")
    if any(one is None for one in found):
        return None
    records = [tensor_at(state, one) for one in found if one is not None]
    former = tensor_at(state, tensor)
    if items is not None:
        shapes = [one.shape for one in records]
        return [fresh_parameter(state, former, shape, f"original{index}", node) for index, shape in enumerate(shapes)]
    if same_dtype(records[0].dtype, former.dtype) is False:
        return Misfit("inverse-dtype")
    state.put(tensor.id, former._replace(shape=records[0].shape))
    return [tensor]


def _takes_other_number(machine: Machine, state: State, step: Value, given: int, node: cst.CSTNode) -> bool:
    """Report a parametrization whose `forward` does not take so many tensors; return True where Python raises."""
    record = state.heap.get(step.id) if isinstance(step, Ref) else None
    found = find_in_class(state, record.cls, "forward") if isinstance(record, Instance) else None
    if not isinstance(step, Ref) or not isinstance(found, Function):
        return False
    return refuses_arguments(machine, Bound(step, found), given, "parametrization", node)


def _inverse_of(state: State, step: Value) -> Function | str | None:
    """Return the method `right_inverse` of a parametrization, or the name of one of torch's own that has it."""
    record = state.heap.get(step.id) if isinstance(step, Ref) else None
    if not isinstance(record, Instance):
        return None
    if isinstance(record.cls, External):
        return record.cls.path.removeprefix(OWN) if record.cls.path.startswith(OWN) else None
    found = find_in_class(state, record.cls, "right_inverse")
    return found if isinstance(found, Function) else None


def _put_list(
    state: State, place: Place, known: Ref | None, step: Value, originals: Sequence[Value], node: cst.CSTNode
) -> None:
    """Register a parametrization where torch does."""
    record = state.at(place.module, Instance)
    if known is not None:
        kept = state.at(known, Instance)
        count = sum(key.isdigit() for key in kept.attrs)
        state.put(known.id, kept._replace(attrs={**kept.attrs, str(count): step}))
        return
    names = ["original"] if len(originals) == 1 else [f"original{index}" for index in range(len(originals))]
    made = state.new(Instance(_LIST, {"0": step, **dict(zip(names, originals, strict=True))}, {}, False, node))
    lists = record.attrs.get("parametrizations")
    if not isinstance(lists, Ref):
        lists = state.new(Instance(External("torch.nn.ModuleDict"), {}, {}, False, node))
    holder = state.at(lists, Instance)
    state.put(lists.id, holder._replace(attrs={**holder.attrs, place.name: made}))
    attrs = {**record.attrs, "parametrizations": lists, place.name: mark(state, PARAMETRIZE, node)}
    state.put(place.module.id, record._replace(attrs=attrs))


def assign_parametrized(
    machine: Machine, state: State, module: Ref, name: str, former: Value, node: cst.CSTNode
) -> bool:
    """module.name = value: the inverses of the parametrizations are called. Return whether it is parametrized."""
    way = way_of(former)
    if way is None:
        return False
    if way.by != PARAMETRIZE:
        forget(state, module, state.at(module, Instance), None)  # The next call computes it again.
        return False
    known = list_of(state, state.at(module, Instance), name)
    kept = {} if known is None else state.at(known, Instance).attrs
    if any(_lacks_inverse(state, one) for key, one in kept.items() if key.isdigit()):
        machine.emit(ReparametrizationMismatch(node, "no-inverse", PARAMETRIZE, name))
    return True


def _lacks_inverse(state: State, step: Value) -> bool:
    """Return whether a parametrization has certainly no `right_inverse`, or one that raises."""
    record = state.heap.get(step.id) if isinstance(step, Ref) else None
    if not isinstance(record, Instance) or record.open:
        return False
    if isinstance(record.cls, External):
        own = record.cls.path.startswith(OWN)
        return record.config.get("invertible") is False if own else is_module(state, step)
    found = "right_inverse" in record.attrs or find_in_class(state, record.cls, "right_inverse") is not None
    return not found and not has_unknown_base(state, record.cls)


def remove_parametrizations(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """remove_parametrizations(module, tensor_name, leave_parametrized=True)"""
    module, name = args.get(0, "module"), args.get(1, "tensor_name")
    place = place_of(machine, state, module, name, "", node)
    if place is None:
        return module
    record = state.at(place.module, Instance)
    known = list_of(state, record, place.name)
    if known is None:
        return refuse_undoing(machine, state, place, "remove_parametrizations", node)
    originals = [one for key, one in state.at(known, Instance).attrs.items() if key.startswith("original")]
    if len(originals) > 1 and args.get(2, "leave_parametrized", True) is False:
        machine.emit(ReparametrizationMismatch(node, "several", "remove_parametrizations", place.name))
        return module
    return restore(machine, state, place, originals, node)


def _own(machine: Machine, state: State, cls: str, invertible: bool, node: cst.CSTNode) -> Ref:
    return state.new(Instance(External(OWN + cls), {}, {"invertible": invertible}, False, node))


def _weight_norm(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """parametrizations.weight_norm(module, name="weight", dim=0)"""
    place = place_of(machine, state, args.get(0, "module"), args.get(1, "name", "weight"), "weight_norm", node)
    if place is not None and (way := way_of(place.value)) is not None and way.by == PARAMETRIZE:
        known = list_of(state, state.at(place.module, Instance), place.name)
        first = None if known is None else state.at(known, Instance).attrs.get("0")
        if isinstance(first, Ref) and _inverse_of(state, first) == "WeightNorm" and way.syntax is not node:
            machine.emit(ReparametrizationMismatch(node, "unreadable", "parametrizations.weight_norm", place.name))
        return place.module
    step = _own(machine, state, "WeightNorm", True, node)
    return _register(machine, state, args, step, True, "parametrizations.weight_norm", node)


def _spectral_norm(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """parametrizations.spectral_norm(module, name="weight", n_power_iterations=1, ...)"""
    iterations = args.get(2, "n_power_iterations", 1)
    if type(iterations) is int and iterations <= 0:
        machine.emit(ReparametrizationMismatch(node, "iterations", "parametrizations.spectral_norm"))
        return args.get(0, "module")
    step = _own(machine, state, "SpectralNorm", True, node)
    return _register(machine, state, args, step, True, "parametrizations.spectral_norm", node)


def _orthogonal(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """parametrizations.orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True)"""
    by = "parametrizations.orthogonal"
    place = place_of(machine, state, args.get(0, "module"), args.get(1, "name", "weight"), by, node)
    if place is None:
        return args.get(0, "module")
    tensor = known_tensor(machine, state, read_place(machine, state, place, node))
    shape = None if tensor is None else tensor_at(state, tensor).shape
    chosen = args.get(2, "orthogonal_map", None)
    reason: Unfit | None = None
    if shape is not None and len(shape) < 2:
        reason = "matrix"
    elif isinstance(chosen, str) and chosen not in ("matrix_exp", "cayley", "householder"):
        reason = "map"
    if reason is not None:
        machine.emit(ReparametrizationMismatch(node, reason, by, place.name))
        return place.module
    if chosen is None and shape is not None:
        chosen = "matrix_exp" if shape[-1] == shape[-2] else "householder"
    plain = chosen in ("matrix_exp", "cayley") and args.keywords.get("use_trivialization", True) is False
    step = _own(machine, state, "Orthogonal", not plain, node)
    return _register(machine, state, args, step, True, by, node)


def written_whole(by: str) -> Native:
    """torch.save(obj, ...), pickle.dump(obj, ...): a parametrized module has a class of its own, not to be found."""

    def write(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        given = args.get(0, "obj")
        name = next(_parametrized_in(state, given), None)
        if name is not None:
            machine.emit(ReparametrizationMismatch(node, "pickled", by, name))
        return Unknown("object") if by == "pickle.dumps" else None

    return write


def _parametrized_in(state: State, value: Value) -> Iterator[str]:
    """Yield the names of the parametrized tensors of the modules that a value holds."""
    for one in contents(state, (value,), all_attributes):
        record = state.heap.get(one.id) if isinstance(one, Ref) else None
        if isinstance(record, Instance) and is_module(state, one):
            ways = ((name, way_of(part)) for name, part in record.attrs.items())
            yield from (name for name, way in ways if way is not None and way.by == PARAMETRIZE)


PARAMETRIZING: dict[str, Native] = {
    "torch.nn.utils.parametrize.register_parametrization": register_parametrization,
    "torch.nn.utils.parametrize.remove_parametrizations": remove_parametrizations,
    "torch.nn.utils.parametrizations.weight_norm": _weight_norm,
    "torch.nn.utils.parametrizations.spectral_norm": _spectral_norm,
    "torch.nn.utils.parametrizations.orthogonal": _orthogonal,
}
"""The functions that register parametrizations, and remove them."""
