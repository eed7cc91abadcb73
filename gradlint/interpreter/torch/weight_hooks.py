"""`weight_norm`, `spectral_norm` and `prune`: hooks compute a tensor of a module before each of its calls."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.graph import Node
from gradlint.domain.refusal.modules import ReparametrizationMismatch, Unfit
from gradlint.domain.shape import Shape
from gradlint.domain.state import State
from gradlint.domain.value import (
    Args,
    Instance,
    Value,
)
from gradlint.interpreter.escape import escape
from gradlint.interpreter.machine import Machine, Native
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.torch.reparametrized import (
    PRUNING,
    SUFFIXES,
    WITH_AMOUNT,
    fresh_parameter,
    mark,
    place_of,
    refuse_undoing,
    restore,
    way_of,
)
from gradlint.interpreter.torch.tensor import (
    known_tensor,
    new_tensor,
    tensor_at,
)


def _norm(by: str) -> Native:
    """weight_norm, spectral_norm: a hook computes the weight before each call of the module."""

    def register(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        module, name = args.get(0, "module"), args.get(1, "name", "weight")
        place = place_of(machine, state, module, name, by, node)
        if place is None:
            return module
        way = way_of(place.value)
        if way is not None:
            if way.syntax is not node:  # In a loop one module may stand for several.
                reason: Unfit = "twice" if way.by == by else "taken"
                machine.emit(ReparametrizationMismatch(node, reason, by, place.name))
            return module
        tensor = known_tensor(machine, state, place.value)
        assert tensor is not None
        former, attrs = tensor_at(state, tensor), dict(state.at(place.module, Instance).attrs)
        del attrs[place.name]
        if by == "weight_norm":
            sizes = _norm_sizes(former.shape, args.get(2, "dim", 0))
            former = former._replace(grad=True, parameter=True)  # It makes two parameters that require grad.
            attrs[f"{place.name}_g"] = fresh_parameter(state, former, sizes, f"{place.name}_g", node)
            attrs[f"{place.name}_v"] = fresh_parameter(state, former, former.shape, f"{place.name}_v", node)
        else:
            attrs[f"{place.name}_orig"] = tensor
        attrs[place.name] = mark(state, by, node)
        state.put(place.module.id, state.at(place.module, Instance)._replace(attrs=attrs))
        return module

    return register


def _norm_sizes(shape: Shape, dim: Value) -> Shape:
    """Return the sizes of the norms along all dimensions but one."""
    if dim is None:
        return ()
    if shape is None or type(dim) is not int or not -len(shape) <= dim < len(shape):
        return None
    return tuple(size if index == dim % len(shape) else 1 for index, size in enumerate(shape))


def _remove(by: str) -> Native:
    """remove_weight_norm, remove_spectral_norm, prune.remove: the weight is a parameter again."""

    def remove(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        module, name = args.get(0, "module"), args.get(1, "name", "weight")
        place = place_of(machine, state, module, name, "", node)
        if place is None:
            return module
        way = way_of(place.value)
        is_pruned = way is not None and way.by in PRUNING
        if way is None or (way.by != by and not (by == "prune" and is_pruned)):
            return refuse_undoing(machine, state, place, "prune.remove" if by == "prune" else f"remove_{by}", node)
        record = state.at(place.module, Instance)
        suffixes = SUFFIXES.get(way.by, ("orig",))
        return restore(machine, state, place, [record.attrs.get(f"{place.name}_{one}") for one in suffixes], node)

    return remove


def _prune(by: str) -> Native:
    """prune.l1_unstructured(module, name, amount) and its like: a mask is multiplied before each call of the module."""

    def prune(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
        module, name = args.get(0, "module"), args.get(1, "name")
        amount = args.get(2, "amount", None)
        if by in WITH_AMOUNT and _no_amount(amount) and not args.open:
            machine.emit(ReparametrizationMismatch(node, "amount", f"prune.{by}"))
            return module
        place = place_of(machine, state, module, name, f"prune.{by}", node)
        if place is None:
            return module
        way = way_of(place.value)
        if way is not None and way.by not in PRUNING:
            machine.emit(ReparametrizationMismatch(node, "taken", f"prune.{by}", place.name))
            return module
        if way is not None:
            return module
        tensor = known_tensor(machine, state, place.value)
        assert tensor is not None
        record = tensor_at(state, tensor)
        reason = _unprunable(by, amount, record.shape)
        if reason is not None:
            machine.emit(ReparametrizationMismatch(node, reason, f"prune.{by}", place.name))
            return module
        own = state.at(place.module, Instance)
        mask = new_tensor(state, Node("buffer", node), dtype=record.dtype, shape=record.shape)
        attrs = {key: value for key, value in own.attrs.items() if key != place.name}
        attrs |= {f"{place.name}_orig": tensor, f"{place.name}_mask": mask, place.name: mark(state, by, node)}
        state.put(place.module.id, own._replace(attrs=attrs))
        return module

    return prune


def _prune_all(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> Value:
    """prune.global_unstructured(parameters, pruning_method, ...): each pair of module and name gets a mask."""
    for pair in items_of(machine, state, args.get(0, "parameters"), node).items:
        if type(pair) is tuple and len(pair) == 2:
            _prune("custom_from_mask")(machine, state, Args(pair), node)
        else:
            escape(machine, state, (pair,), node)
    return None


def _no_amount(amount: Value) -> bool:
    """Return whether a number is neither a share nor a count."""
    if isinstance(amount, str):
        return True
    if isinstance(amount, float):
        return not 0.0 <= amount <= 1.0
    return isinstance(amount, int) and amount < 0


def _unprunable(by: str, amount: Value, shape: Shape) -> Unfit | None:
    if shape is None:
        return None
    if by.endswith("_structured"):
        return "matrix" if len(shape) < 2 else None
    count = 1
    for size in shape:
        if type(size) is not int:
            return None
        count *= size
    return "amount-size" if by in WITH_AMOUNT and type(amount) is int and amount > count else None


WEIGHT_HOOKS: dict[str, Native] = {
    "torch.nn.utils.weight_norm": _norm("weight_norm"),
    "torch.nn.utils.spectral_norm": _norm("spectral_norm"),
    "torch.nn.utils.remove_weight_norm": _remove("weight_norm"),
    "torch.nn.utils.remove_spectral_norm": _remove("spectral_norm"),
    "torch.nn.utils.prune.remove": _remove("prune"),
    "torch.nn.utils.prune.global_unstructured": _prune_all,
    **{f"torch.nn.utils.prune.{name}": _prune(name) for name in sorted(PRUNING)},
}
"""The functions that register such hooks, and remove them."""
