"""Transforms under way: what a function may not do while `torch.func` differentiates or maps it.

Measured with torch 2.13. Below `grad`, `vjp`, `jvp` and what is made of them, a tensor from outside must not be
written. Below `vmap`, a tensor that is the same for all must not be written with values that differ, and no Python
number can be made of values that differ. No random number is drawn below `vmap` unless `randomness` allows it. Below
any of them, `backward`, `requires_grad_` and `retain_grad` raise.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager

import libcst as cst

from gradlint.domain.graph import Edge, Node
from gradlint.domain.refusal.transform import CapturedWrite, TransformUnsupported, Unsupported
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Unknown, Value
from gradlint.domain.walk import back_to, inputs, reachable
from gradlint.facts.aliases import bare, canonical, is_inplace, is_module
from gradlint.facts.traits import FROM_SIZES, RANDOM, RANDOM_IN_TRAINING, SIZE_BY_VALUES, UNBATCHED
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import known_tensor, tensor_at
from gradlint.interpreter.torch.transform.level import Level


@contextmanager
def entered(machine: Machine, level: Level) -> Iterator[Level]:
    """The function of a transform runs."""
    machine.transforms.append(level)
    try:
        yield level
    finally:
        machine.transforms.remove(level)


@contextmanager
def left(machine: Machine, level: Level) -> Iterator[None]:
    """What runs is no part of the function of the innermost transform: it computes all runs of it together."""
    assert machine.transforms.pop() is level
    try:
        yield
    finally:
        machine.transforms.append(level)


def unsupported(
    machine: Machine, node: cst.CSTNode, reason: Unsupported, op: str = "", level: Level | None = None
) -> None:
    """torch raises on what a function does, because of the transform that runs it: the innermost, or a given one."""
    by = machine.transforms[-1] if level is None else level
    machine.emit(TransformUnsupported(node, reason, op, by.node, by.name))


def _maps(machine: Machine) -> Iterable[Level]:
    return (level for level in machine.transforms if level.kind == "map")


def _differs(level: Level, node: Node) -> bool:
    """Return whether a value was certainly computed from values that differ; as far as is looked."""
    if not level.mapped:
        return False
    return any(one.id in level.mapped for one in reachable([node], back_to(level.since, inputs), _MOST))


_MOST = 200
"""How many nodes are looked at: each operation below a level asks."""


def mapped(machine: Machine, record: Tensor) -> Level | None:
    """Return the `vmap` below which a tensor certainly stands for several."""
    return next((level for level in _maps(machine) if _differs(level, record.node)), None)


# Writes.


def captured(machine: Machine, state: State, ref: Ref, op: str, sources: Sequence[Edge], node: cst.CSTNode) -> bool:
    """Report a write in place that a transform refuses; return True where it raises."""
    record = tensor_at(state, ref)
    for level in machine.transforms:
        if level.kind != "map":
            if record.memory < level.since:
                machine.emit(CapturedWrite(node, op, False, record.syntax, level.node, level.name))
                return True
        elif _is_one(state, level, record) and any(_differs(level, edge.node) for edge in sources):
            machine.emit(CapturedWrite(node, op, True, None, level.node, level.name))
            return True
    return False


def _is_one(state: State, level: Level, record: Tensor) -> bool:
    """Return whether a tensor is certainly the same for all runs: made before, or of nothing."""
    base = state.heap[record.view.base] if record.view is not None else record
    assert isinstance(base, Tensor)
    if base.memory < level.since:
        return not _differs(level, record.node)
    return canonical(base.node.op) in FROM_SIZES and not base.node.edges


# Calls.

_METHODS = frozenset({"backward", "requires_grad_", "retain_grad"})
_OF_VALUES: dict[str, Unsupported] = {
    "tolist": "list",
    "numpy": "array",
    "item": "number",
    "allclose": "size",
    "equal": "size",
}


def refuses_method(machine: Machine, state: State, ref: Ref, name: str, node: cst.CSTNode) -> bool:
    """Return whether a method of a tensor raises in a transform."""
    if name in _METHODS:
        unsupported(machine, node, "method", name)
        return True
    return name in _OF_VALUES and refuses_number(machine, state, ref, _OF_VALUES[name], node, name)


def refuses_number(
    machine: Machine, state: State, ref: Ref, reason: Unsupported, node: cst.CSTNode, op: str = ""
) -> bool:
    """Return whether a Python value is made of values that differ."""
    level = mapped(machine, tensor_at(state, ref))
    if level is not None:
        unsupported(machine, node, reason, op, level)
    return level is not None


def refuses_numbers(machine: Machine, state: State, values: Iterable[Value], node: cst.CSTNode) -> bool:
    """range(x.sum()), math.sqrt(x): return whether a value that stands for several is taken for a Python number."""
    if not machine.transforms:
        return False
    refs = [ref for one in values if (ref := known_tensor(machine, state, one)) is not None]
    return any(refuses_number(machine, state, ref, "number", node) for ref in refs)


def refuses_test(machine: Machine, state: State, test: Value, node: cst.CSTNode) -> bool:
    """if x.sum() > 0: one way cannot be taken for all."""
    ref = known_tensor(machine, state, test)
    if ref is not None:
        return refuses_number(machine, state, ref, "branch", node)
    negated = test.negated if isinstance(test, Unknown) else None
    return negated is not None and refuses_test(machine, state, negated, node)


def refuses_operation(
    machine: Machine, state: State, name: str, inputs: Sequence[Ref], flags: dict[str, object], node: cst.CSTNode
) -> bool:
    """Refuse random numbers, writes to running statistics, and what depends on values or cannot be mapped."""
    one = canonical(name)
    if one in RANDOM or (one in RANDOM_IN_TRAINING and _drops(flags)) or _drops_attention(one, flags):
        drawn = inputs[0] if inputs and is_inplace(name) else None
        if refuses_random(machine, node) or _drawn_once(machine, state, drawn, bare(name), node):
            return True
    if one == "batch_norm" and _tracks(name, flags) and _statistics_written(machine, flags["@module"], node):
        return True
    reason: Unsupported | None = None
    if one == "batch_norm" and _tracks(name, flags):
        reason = "batch-norm"
    elif one in SIZE_BY_VALUES and (one != "where" or len(inputs) == 1):
        reason = "size"
    elif one in UNBATCHED:
        reason = "no-batching"
    elif one == "one_hot" and flags.get("num_classes", -1) == -1:
        reason = "num-classes"
    if reason is None:
        return False
    return any(refuses_number(machine, state, ref, reason, node, bare(name)) for ref in inputs)


def _statistics_written(machine: Machine, module: object, node: cst.CSTNode) -> bool:
    """Return whether a batch norm that was made outside writes to its running statistics in a derivative."""
    made = module if isinstance(module, int) else 0
    level = next((one for one in machine.transforms if one.kind != "map" and made < one.since), None)
    if level is not None:
        machine.emit(CapturedWrite(node, "batch_norm", False, None, level.node, level.name))
    return level is not None


def _drawn_once(machine: Machine, state: State, ref: Ref | None, op: str, node: cst.CSTNode) -> bool:
    """Return whether numbers that should differ are drawn into a tensor that is the same for all runs."""
    for level in _maps(machine):
        if ref is not None and level.apart and _is_one(state, level, tensor_at(state, ref)):
            unsupported(machine, node, "random-shared", op, level)
            return True
    return False


def _tracks(name: str, flags: dict[str, object]) -> bool:
    """Return whether a batch norm is a module that certainly writes to its running statistics."""
    return is_module(name) and flags.get("training") is True and flags.get("track_running_stats", True) is True


def refuses_escaped(machine: Machine, state: State, refs: Iterable[Ref], op: str, node: cst.CSTNode) -> bool:
    """Return whether a tensor is used that stood for several in a function that `vmap` has run before."""
    if not machine.left:
        return False
    roots = [tensor_at(state, ref).node for ref in refs]
    for one in reachable(roots, lambda node: () if node.op == JOINED else inputs(node), _MOST):
        level = machine.left.get(one.id)
        if level is not None:
            unsupported(machine, node, "escaped", op, level)
            return True
    return False


JOINED = "vmap"
"""The operation of a result that holds those of all runs of the function."""


def refuses_random(machine: Machine, node: cst.CSTNode) -> bool:
    """Return whether random numbers may not be drawn here."""
    level = next((one for one in machine.transforms if not one.random), None)
    if level is not None:
        unsupported(machine, node, "random", "", level)
    return level is not None


def _drops(flags: dict[str, object]) -> bool:
    """Return whether a dropout certainly draws: a function does so by default, a module in training."""
    if flags.get("p") == 0:
        return False
    return flags.get("training") is True


def _drops_attention(one: str, flags: dict[str, object]) -> bool:
    """Return whether attention certainly drops weights."""
    if one == "nn.MultiheadAttention":
        return flags.get("training") is True and _is_positive(flags.get("dropout"))
    return one == "scaled_dot_product_attention" and _is_positive(flags.get("dropout_p"))


def _is_positive(value: object) -> bool:
    return isinstance(value, (int, float)) and value > 0


def refuses_mask(machine: Machine, state: State, index: Value, node: cst.CSTNode) -> bool:
    """x[x > 0], x[:n]: for each run another number of elements."""
    if isinstance(index, slice):
        return refuses_numbers(machine, state, (index.start, index.stop, index.step), node)
    mask = known_tensor(machine, state, index)
    if mask is None or tensor_at(state, mask).dtype != "bool":
        return False
    return refuses_number(machine, state, mask, "mask", node)


_FORWARD_MAPPED = frozenset({"jacfwd", "hessian"})
"""Transforms that run the function on all tangents at once, below `vmap` of their own."""


def refuses_custom(machine: Machine, has_setup: bool, maps: bool, twice: bool, name: str, node: cst.CSTNode) -> bool:
    """Refuse a custom function without `setup_context`, or below `vmap` without a rule for it or with two."""
    if not has_setup:
        unsupported(machine, node, "no-setup-context", name)
        return True
    level = next(iter(_maps(machine)), None)
    if twice and level is not None and level is machine.transforms[-1]:
        unsupported(machine, node, "two-vmap-rules", name, level)
        return True
    if machine.transforms[-1].name in _FORWARD_MAPPED:
        level = machine.transforms[-1]
    if maps or level is None or level is not machine.transforms[-1]:
        return False
    unsupported(machine, node, "no-vmap-rule", name, level)
    return True
