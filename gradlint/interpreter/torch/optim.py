"""Optimizers: a step writes in place to every parameter that has a gradient."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import libcst as cst

from gradlint.domain import announcement
from gradlint.domain.otherwise import may_be_another
from gradlint.domain.refusal.arguments import ArgumentRefused
from gradlint.domain.refusal.optimizers import NonleafInOptimizer, ParameterInTwoGroups, UnfitParameters
from gradlint.domain.refusal.training_loop import ClosureIsValue, ClosureMissing
from gradlint.domain.state import State, fresh_address
from gradlint.domain.value import (
    Args,
    Bound,
    External,
    Function,
    Instance,
    Mapping,
    NoGradient,
    OptimizerState,
    Record,
    Ref,
    Sequence,
    Tensor,
    Unknown,
    Value,
    Write,
)
from gradlint.interpreter.libraries.model_zoos import leaf_of
from gradlint.interpreter.machine import Machine, Method
from gradlint.interpreter.python.iteration import items_of
from gradlint.interpreter.reachable import known_items, sequence_at
from gradlint.interpreter.torch.gradient_layout import refuse_layout
from gradlint.interpreter.torch.inplace import bump
from gradlint.interpreter.torch.module_parts import is_single_part
from gradlint.interpreter.torch.parameters import has_own_step, members_of, optimizer_state
from gradlint.interpreter.torch.state_dicts import TakenFrom
from gradlint.interpreter.torch.tensor import (
    NOT_SHOWN,
    SUMMARY,
    UNCOUNTED,
    is_absent,
    known_tensor,
    new_leaf,
    refuses_uninitialized,
    tensor_at,
)

_LBFGS = "torch.optim.LBFGS"


def new_optimizer(machine: Machine, state: State, path: str, args: Args, node: cst.CSTNode) -> Ref:
    """torch.optim.X(params, ...)"""
    ref = state.new(Instance(External(path), {}, {}, False, node))
    fill_optimizer(machine, state, ref, args, node)
    return ref


def supposed_optimizer(machine: Machine, state: State, params: tuple[Ref, ...], node: cst.CSTNode) -> Ref:
    """Return an optimizer that a file does not show: it holds these parameters, and perhaps others."""
    params = params or (_unseen_parameter(machine, state, node),)
    inner = OptimizerState(params)
    attrs: dict[str, Value] = {"param_groups": _groups(state, params, True)}
    ref = state.new(Instance(External("torch.optim.Optimizer"), attrs, {}, True, inner=inner))
    machine.announce(state, announcement.OptimizerSupposed(node, ref))
    _admit(machine, state, announcement.ParametersTaken(node, ref, None, params, complete=False))
    return ref


def _unseen_parameter(machine: Machine, state: State, node: cst.CSTNode) -> Ref:
    """Return a leaf that stands for the parameters of an optimizer of which none is shown; it may have a gradient.

    It is that of the only network that no optimizer holds yet, if none of its parameters is shown either.
    """
    found: dict[cst.CSTNode | None, Value] = {}
    for one in state.heap.values():
        leaf = leaf_of(one) if isinstance(one, Instance) and one.module.foreign else None
        if isinstance(one, Instance) and isinstance(leaf, Ref) and leaf.id not in machine.optimized:
            found.setdefault(one.syntax, leaf)
    if len(found) == 1 and isinstance(only := next(iter(found.values())), Ref):
        return only
    machine.hides_parameters = True
    made = new_leaf(state, node, parameter=True, tags=UNCOUNTED | {SUMMARY, NOT_SHOWN})
    state.put(made.id, tensor_at(state, made)._replace(accumulated=Unknown("gradient")))
    machine.announce(state, announcement.NetworkSupposed(node, (made,)))
    return made


def fill_optimizer(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> None:
    """What an optimizer's constructor does: it takes leaves, and at least one."""
    given = args.get(0, "params")
    machine.announce(state, announcement.OptimizerMade(node, ref, given, args.open))
    shared: list[Ref] = []
    groups = None if args.open else _group_count(state, given)
    params, is_open = _collect(machine, state, given, node, shared)
    if is_open and not params and machine.assumes and machine.program.may_backpropagate:
        params = [_unseen_parameter(machine, state, node)]
    _admit(
        machine, state, announcement.ParametersTaken(node, ref, given, params, complete=not is_open and not args.open)
    )
    _refuse_shared(machine, state, shared, node)
    unfit = None if args.open else _unfit(machine, state, given, node)
    if unfit is not None:
        machine.emit(unfit)
    record_ = state.at(ref, Instance)
    if record_.cls == External("torch.optim.Adagrad"):  # The others make their state in the first step.
        any(refuses_uninitialized(machine, state, one, "Adagrad", node) for one in params)
    attrs = {**record_.attrs, "param_groups": _groups(state, params, is_open)}
    if record_.cls == External(_LBFGS) and isinstance(groups, int) and groups > 1:
        text = "LBFGS doesn't support per-parameter options (parameter groups)"
        machine.emit(ArgumentRefused(node, _LBFGS, "value", "params", text))
    inner = OptimizerState(tuple(params), is_open, groups)
    state.put(ref.id, record_._replace(attrs=attrs, config=dict(args.keywords), inner=inner))


def _unfit(machine: Machine, state: State, given: Value, node: cst.CSTNode) -> UnfitParameters | None:
    """Return what torch refuses of the first argument of an optimizer (`Optimizer.__init__`, `add_param_group`)."""
    if given is None:
        return UnfitParameters(node, "none")
    if isinstance(given, Bound):
        return UnfitParameters(node, "method")
    if known_tensor(machine, state, given) is not None:
        return UnfitParameters(node, "tensor")
    if is_single_part(state, given):
        return UnfitParameters(node, "module")
    named = state[given] if isinstance(given, Ref) else None
    if isinstance(named, Mapping):  # Its keys are its items.
        of_state = TakenFrom(given.id) in state.facts if isinstance(given, Ref) else False
        is_text = of_state or any(type(key) is str for key in named.items)
        return UnfitParameters(node, "dict") if is_text else None
    items = known_items(state, given) or ()
    groups = [state[item] for item in items if isinstance(item, Ref) and isinstance(state[item], Mapping)]
    if not groups:
        kind = next((kind for item in items if (kind := _other_kind(machine, state, item))), None)
        return None if kind is None else UnfitParameters(node, "item", kind)
    return next((found for one in groups if (found := _unfit_group(state, one, node)) is not None), None)


def _unfit_group(state: State, group: Record, node: cst.CSTNode) -> UnfitParameters | None:
    """Return what torch refuses of a group: one without parameters, and a set of them, which has no order."""
    if not isinstance(group, Mapping) or "params" not in group.items:
        return UnfitParameters(node, "nameless") if isinstance(group, Mapping) and not group.open else None
    listed = sequence_at(state, group.items["params"])
    return UnfitParameters(node, "set") if listed is not None and listed.kind == "set" else None


def _other_kind(machine: Machine, state: State, item: Value) -> str | None:
    """Return what stands in a list of parameters that is no tensor, and no pair of a name and a tensor."""
    if known_tensor(machine, state, item) is not None:
        return None
    if type(item) in (int, float, bool, str):
        return type(item).__name__
    if is_single_part(state, item):
        return "module"
    return "list" if isinstance(item, Ref) and isinstance(state[item], Sequence) else None


def _group_count(state: State, given: Value) -> int | None:
    """Return in how many groups an optimizer has put its parameters: one, unless it was given dicts."""
    listed = sequence_at(state, given)
    records = [state[one] if isinstance(one, Ref) else None for one in listed.items] if listed is not None else []
    if records and isinstance(records[0], Tensor):
        return 1  # Whatever follows is in the same.
    whole = listed is not None and not listed.open and records
    return len(records) if whole and all(isinstance(one, Mapping) for one in records) else None


def _groups(state: State, params: Iterable[Ref], is_open: bool) -> Ref:
    """Return the list of dicts that an optimizer keeps its parameters in."""
    group = state.new(Mapping({"params": state.new(Sequence(tuple(params), "list", is_open))}, True))
    return state.new(Sequence((group,), "list", is_open))


def _admit(machine: Machine, state: State, taken: announcement.ParametersTaken) -> None:
    """An optimizer takes leaves, and non-leaves that retain their gradient."""
    for param in taken.parameters:
        record = tensor_at(state, param)
        if record.leaf is False and record.retains is False:
            machine.emit(NonleafInOptimizer(taken.node, record.syntax))
        if record.node.leaf is not None:
            machine.optimized.add(record.node.leaf)
    machine.announce(state, taken)


def _refuse_shared(
    machine: Machine, state: State, shared: Iterable[Ref], node: cst.CSTNode, *, whole: bool = False
) -> None:
    """A parameter in two groups is refused; in a loop, several may look like one."""
    for one in shared if not machine.iterations else ():
        record = tensor_at(state, one)
        if SUMMARY not in record.tags:
            machine.emit(ParameterInTwoGroups(node, record.syntax, whole))
            return


def _collect(
    machine: Machine, state: State, value: Value, node: cst.CSTNode, shared: list[Ref] | None = None
) -> tuple[list[Ref], bool]:
    """Return the tensors in parameters, lists of them, or groups; `shared` gets those that are in two groups."""
    found: dict[int, Ref] = {}
    items = items_of(machine, state, value, node) if known_tensor(machine, state, value) is None else Sequence(())
    is_open = items.open
    settled = True
    for item in items.items:
        if type(item) is tuple and len(item) == 2:
            item = item[1]
        tensor = known_tensor(machine, state, item)
        if tensor is not None:
            found[tensor.id] = tensor
        elif isinstance(item, Ref) and isinstance(group := state[item], Mapping):
            inner = group.items.get("params")
            single = known_tensor(machine, state, inner)
            if single is not None:
                found[single.id] = single
                continue
            more, more_open = _collect(machine, state, inner, node)
            # Where undecided tests may have picked the items, each group may hold the others' rest.
            settled = settled and not more_open and not (isinstance(inner, Ref) and state.undecided_since(inner.id))
            if shared is not None and settled:
                shared.extend(one for one in more if one.id in found)
            found.update({one.id: one for one in more})
            is_open = is_open or more_open or inner is None
        else:
            is_open = True
    return list(found.values()), is_open


def own_step_called(machine: Machine, state: State, args: Args, node: cst.CSTNode) -> None:
    """Announce that an optimizer's own `step` uses the gradients, now or after what it is given fills them."""
    ref = args.get(0, "self")
    if isinstance(ref, Ref) and has_own_step(state, ref):
        closure = Unknown() if args.open or len(args.positional) + len(args.keywords) > 1 else None
        machine.announce(state, announcement.StepCalled(node, ref))
        machine.announce(state, announcement.GradientsUsed(node, ref, closure, None, walked=closure is not None))
        machine.announce(state, announcement.Stepped(node, ref, members_of(state, ref)))


def _step(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """step(closure=None): parameters without a gradient are left out."""
    machine.announce(state, announcement.StepCalled(node, ref))
    closure = args.get(0, "closure")
    if isinstance(closure, (int, float)) or known_tensor(machine, state, closure) is not None:
        machine.emit(ClosureIsValue(node))
        return Unknown("raised")
    # An optimizer of the program may have a step of its own.
    if closure is None and not args.open and state.at(ref, Instance).cls == External(_LBFGS):
        machine.emit(ClosureMissing(node))
    before = fresh_address()
    result = _evaluate(machine, state, ref, closure, node)
    returns_nothing = result is None and not state.undecided_since(before)
    if returns_nothing and isinstance(closure, Function) and state.at(ref, Instance).cls == External(_LBFGS):
        machine.emit(ClosureMissing(node, closure.code.node))
        return Unknown("raised")
    params = members_of(state, ref)
    if refuse_layout(machine, state, state.at(ref, Instance), params, node):
        return Unknown("raised")
    machine.announce(state, announcement.Stepped(node, ref, params))
    _update(machine, state, params, node)
    return result


def _evaluate(machine: Machine, state: State, ref: Ref, closure: Value, node: cst.CSTNode) -> Value:
    """Return the loss that the closure gives; what it has filled is used before it is called again."""
    if closure is None:
        machine.announce(state, announcement.GradientsUsed(node, ref, None, None, walked=False))
        return None
    asked = machine.asked
    result: Value = None
    for _ in range(_evaluations(state, ref)):
        result = machine.call(state, closure, Args(), node)
        machine.announce(state, announcement.GradientsUsed(node, ref, closure, result, machine.asked > asked))
    return result


def _update(machine: Machine, state: State, params: Iterable[Ref], node: cst.CSTNode) -> None:
    """Write to each parameter that may have a gradient."""
    for param in params:
        record = state.heap.get(param.id)
        if not isinstance(record, Tensor) or record.grad is False:
            continue
        filled = isinstance(record.accumulated, Ref)
        if filled or not is_absent(state, param, record.accumulated):
            bump(machine, state, param, Write(node, "optimizer.step", filled))


def _evaluations(state: State, ref: Ref) -> int:
    """Return how often a step calls its closure: LBFGS does so again and again, unless `max_iter` is given."""
    record = state.at(ref, Instance)
    several = isinstance(record.cls, External) and record.cls.path.endswith(".LBFGS")
    return 2 if several and "max_iter" not in record.config else 1


def _zero_grad(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    params = members_of(state, ref)
    machine.announce(state, announcement.GradientsCleared(node, params))
    for param in params:
        clear_gradient(machine, state, param, args, node)
    return None


def clear_gradient(machine: Machine, state: State, param: Ref, args: Args, node: cst.CSTNode) -> None:
    """zero_grad(set_to_none=True): gradients are dropped, or set to zero in place."""
    record = state.heap.get(param.id)
    if not isinstance(record, Tensor):
        return
    drop = args.get(0, "set_to_none", True)
    if drop is True:
        machine.announce(state, announcement.GradientReleased(node, record.accumulated))
        state.put(param.id, record._replace(accumulated=NoGradient(record.syntax, fresh_address())))
    elif drop is False and isinstance(record.accumulated, Ref):
        bump(machine, state, record.accumulated, Write(node, "zero_grad"))
    elif drop is not False and not is_absent(state, param, record.accumulated):
        state.put(param.id, record._replace(accumulated=Unknown("gradient")))


def _add_group(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    group = args.get(0, "param_group")
    if known_tensor(machine, state, group) is not None or (
        isinstance(group, Ref) and isinstance(state[group], Sequence)
    ):
        machine.emit(UnfitParameters(node, "group"))
        return Unknown("raised")
    unfit = _unfit_group(state, state[group], node) if isinstance(group, Ref) else None
    if unfit is not None:
        machine.emit(unfit)
        return Unknown("raised")
    more, more_open = _collect(machine, state, (group,), node)
    record = state.at(ref, Instance)
    _admit(machine, state, announcement.ParametersTaken(node, ref, group, more, complete=not more_open))
    members = members_of(state, ref)
    whole = all(one in members for one in more) and not more_open
    _refuse_shared(machine, state, (one for one in more if one in members), node, whole=whole)
    former = optimizer_state(record)
    count = former.groups + 1 if isinstance(former.groups, int) else None
    inner = OptimizerState((*members, *more), former.open or more_open, count)
    state.put(ref.id, record._replace(inner=inner))
    return None


_STATE = "state of an optimizer"


def _state_dict(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    return machine.symbol(_STATE, _groups_of(state, ref), ref)


class _Groups(NamedTuple):
    """How many groups of parameters an optimizer has, and how many parameters, where these are known."""

    groups: int | None
    size: int | None


def _groups_of(state: State, ref: Ref) -> _Groups:
    found = optimizer_state(state.heap.get(ref.id))
    if may_be_another(state, ref) or not isinstance(found.groups, int):
        return _Groups(None, None)
    return _Groups(found.groups, len(members_of(state, ref)) if found.groups == 1 and found.open is False else None)


def _load(machine: Machine, state: State, ref: Ref, args: Args, node: cst.CSTNode) -> Value:
    """load_state_dict(state): the groups are those of the optimizer (torch/optim/optimizer.py)."""
    given = args.get(0, "state_dict")
    if not isinstance(given, Unknown) or given.key is None or given.key[0] != _STATE:
        return None
    other, own = given.key[1], _groups_of(state, ref)
    text = _unlike(own, other) if isinstance(other, _Groups) else None
    if text is not None:
        machine.emit(ArgumentRefused(node, "torch.optim.Optimizer.load_state_dict", "value", "state_dict", text))
        return Unknown("raised")
    return None


def _unlike(own: _Groups, other: _Groups) -> str | None:
    """Return what torch says of the state of an optimizer with other groups."""
    if None not in (own.groups, other.groups) and own.groups != other.groups:
        return "loaded state dict has a different number of parameter groups"
    if None not in (own.size, other.size) and own.size != other.size:
        return "loaded state dict contains a parameter group that doesn't match the size of optimizer's group"
    return None


OPTIMIZER_METHODS: dict[str, Method] = {
    "step": _step,
    "zero_grad": _zero_grad,
    "add_param_group": _add_group,
    "state_dict": _state_dict,
    "load_state_dict": _load,
}
