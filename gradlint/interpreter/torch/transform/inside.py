"""Running the function of a transform: its arguments as it sees them, and its results as the caller gets them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal, NamedTuple, TypeAlias

import libcst as cst

from gradlint.domain.dtype import COMPLEXES, can_require_grad
from gradlint.domain.event import Refusal
from gradlint.domain.graph import Edge, Node, Tri
from gradlint.domain.refusal.transform import Mismatch, TransformMismatch
from gradlint.domain.state import State
from gradlint.domain.value import Args, Ref, Tensor, Unknown, Value
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.python.contexts import saves_by_hooks
from gradlint.interpreter.torch.callbacks import refuses_arguments
from gradlint.interpreter.torch.tensor import new_leaf, new_tensor
from gradlint.interpreter.torch.transform.level import Level
from gradlint.interpreter.torch.transform.levels import entered, unsupported
from gradlint.interpreter.torch.transform.trees import changed, leaves, no_tensor, other_leaf, tensor_of

RAISED = Unknown("raised")

Got: TypeAlias = str | int | None


def mismatch(
    machine: Machine, node: cst.CSTNode, name: str, reason: Mismatch, got: Got = None, wanted: int | None = None
) -> Unknown:
    """torch refuses what a transform is given, or gets back."""
    machine.emit(TransformMismatch(node, name, reason, got, wanted))
    return RAISED


def unfit(
    machine: Machine, node: cst.CSTNode, name: str, reason: Mismatch, got: Got = None, wanted: int | None = None
) -> Literal[False]:
    """Report what does not fit; False."""
    machine.emit(TransformMismatch(node, name, reason, got, wanted))
    return False


class Asked(NamedTuple):
    """What a transform was asked for: its function, which arguments it differentiates by, and its options.

    `strict`: each output must depend on the inputs.
    """

    name: str
    function: Value
    which: Value = 0
    aux: Value = False
    random: Value = True
    strict: bool = False


def run(machine: Machine, state: State, level: Level, function: Value, args: Args, node: cst.CSTNode) -> Value:
    """Return what the function gives; `raised` where torch certainly refuses something in it, or its paths part."""
    if level.kind == "reverse" and saves_by_hooks(state):
        unsupported(machine, node, "saved-hooks", "", level)
        return RAISED
    with entered(machine, level):
        return run_plain(machine, state, function, args, node)


def run_plain(machine: Machine, state: State, function: Value, args: Args, node: cst.CSTNode) -> Value:
    """Return what a function gives that runs as it is; `raised` as in `run`."""
    simple = not args.keywords and not args.open
    if simple and refuses_arguments(machine, function, len(args.positional), "transformed", node):
        return RAISED
    before, dropped = len(machine.events), machine.give_ups["paths dropped"]
    value = machine.call(state, function, args, node)
    refused = any(isinstance(event, Refusal) for event in machine.events[before:])
    return RAISED if refused or machine.give_ups["paths dropped"] > dropped else value


# Which arguments.


def chosen(machine: Machine, asked: Asked, args: Args, node: cst.CSTNode) -> tuple[int, ...] | None:
    """Return the positions of the arguments to differentiate; None where torch refuses, or they are not known."""
    which = asked.which
    several = which if type(which) is tuple else (which,)
    numbers = [one for one in several if type(one) is int]
    count = len(args.positional)
    outside = next((one for one in numbers if not -count <= one < count), None)
    if isinstance(which, Ref) or any(isinstance(one, (float, str, tuple)) or one is None for one in several):
        mismatch(machine, node, asked.name, "argnums-kind")
    elif which == ():
        mismatch(machine, node, asked.name, "argnums-empty")
    elif len(numbers) < len(several) or args.open:
        return None
    elif outside is not None:
        mismatch(machine, node, asked.name, "argnums-range", outside, count)
    elif len({one % count for one in numbers}) < len(numbers):
        mismatch(machine, node, asked.name, "argnums-twice")
    else:
        return tuple(one % count for one in numbers)
    return None


# Arguments.


def differentiable(machine: Machine, state: State, name: str, values: Iterable[Value], node: cst.CSTNode) -> bool:
    """Return whether all leaves may be differentiated, as far as known; torch refuses numbers and integers."""
    for value in values:
        for leaf in leaves(state, value) or ():
            other = no_tensor(state, leaf)
            if other is not None:
                return unfit(machine, node, name, "input-kind", other)
            record = tensor_of(state, leaf)
            if record is not None and can_require_grad(record.dtype) is False:
                return unfit(machine, node, name, "input-dtype", record.dtype)
            if record is not None and record.dtype in COMPLEXES and name in ("jacrev", "jacfwd", "hessian"):
                return unfit(machine, node, name, "input-complex")
    return True


def as_leaves(machine: Machine, state: State, value: Value, node: cst.CSTNode, level: Level | None) -> Value:
    """Return arguments to be differentiated by as they are inside: leaves of their own."""

    def fresh(leaf: Value) -> Value:
        record = tensor_of(state, leaf)
        if record is None:
            return leaf
        if level is not None and level.kind == "forward":
            return _twin(state, record, node)
        name = "dual" if level is not None and level.name == "hessian" else "inside"  # `hessian` is `jacfwd(jacrev)`.
        return new_leaf(state, node, dtype=record.dtype, shape=record.shape, source=record.node, name=name)

    return changed(state, value, fresh)


def _twin(state: State, record: Tensor, node: cst.CSTNode) -> Ref:
    made = Node("dual", node, [Edge(record.node, record.grad)], tracked=record.grad)
    return new_tensor(state, made, grad=record.grad, dtype=record.dtype, shape=record.shape, tags=record.tags)


def tensors_of(state: State, values: Iterable[Value]) -> tuple[Tensor, ...]:
    """Return all tensors among the leaves."""
    found = [tensor_of(state, leaf) for value in values for leaf in leaves(state, value) or (value,)]
    return tuple(one for one in found if one is not None)


# Results.


def only_tensors(
    machine: Machine, state: State, name: str, value: Value, node: cst.CSTNode, reason: Mismatch = "output-kind"
) -> bool:
    """Return whether all that the function gives are tensors, and there is one, as far as is known."""
    if reason == "output-kind" and leaves(state, value) == []:
        return unfit(machine, node, name, "output-empty")
    other = other_leaf(state, value)
    if other is not None:
        return unfit(machine, node, name, reason, other)
    return True


def with_aux(
    machine: Machine, state: State, asked: Asked, value: Value, node: cst.CSTNode
) -> tuple[Value, Value] | None:
    """Return the output and what comes with it, where `has_aux` is set."""
    if asked.aux is False:
        return value, None
    if asked.aux is not True:
        return RAISED, None
    if type(value) is tuple and len(value) == 2:
        return value if only_tensors(machine, state, asked.name, value[1], node, "aux-kind") else None
    if isinstance(value, Unknown) and value.kind is None:
        return RAISED, None
    mismatch(machine, node, asked.name, "aux-missing")
    return None


def outside(state: State, value: Value, sources: tuple[Tensor, ...], node: cst.CSTNode, *, sized: bool = True) -> Value:
    """Return results as they leave a transform: computed from what went in; whether they have a graph is not known.

    A tensor that the function takes from outside may give them one. `sized`: they have the sizes of the leaves.
    """
    edges = [Edge(one.node, None if one.grad is not False else False) for one in sources]
    tracked: Tri = None if state.grad is not False else False

    def made(leaf: Value) -> Value:
        record = tensor_of(state, leaf)
        if record is None:
            return leaf
        one = Node("transform", node, edges, tracked=tracked, maybe_saved=True)
        shape = record.shape if sized else None
        return new_tensor(state, one, grad=tracked, dtype=record.dtype if sized else None, shape=shape)

    return changed(state, value, made)
