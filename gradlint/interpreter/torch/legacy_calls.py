"""Calls as old versions of torch took them: read as what they mean today."""

from __future__ import annotations

from collections.abc import Iterable

import libcst as cst

from gradlint.domain.announcement import FactorsMoved
from gradlint.domain.dtype import can_require_grad, is_floating
from gradlint.domain.refusal.tensors import NumberIndexed
from gradlint.domain.state import State
from gradlint.domain.value import Args, Tensor, Unknown, Value
from gradlint.facts import Entry, Param
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import ALPHA_FIRST, FACTORS_FIRST, VALUE_FIRST
from gradlint.interpreter.machine import Machine
from gradlint.interpreter.torch.tensor import SCALAR, as_tensor, known_tensor, tensor_at
from gradlint.interpreter.world.versions import tests_version


def modern(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Args:
    """Return the arguments as they are passed today."""
    if len(args.positional) >= 3:
        args = _number_last(machine, state, entry, args, node)
    if entry.name == _BAG:
        args = _weight_second(machine, state, args)
    return args


def with_reduction(bound: dict[str, Value], overload: Iterable[Param]) -> dict[str, Value]:
    """Return the arguments of a loss with the `reduction` that its old `size_average` and `reduce` stand for.

    The old ones win over `reduction` (torch/nn/_reduction.py, `legacy_get_string`).
    """
    if "reduce" not in bound and "size_average" not in bound:
        return bound
    old = [bound.get(name) for name in ("size_average", "reduce")]
    if old == [None, None] or all(param.name != "size_average" for param in overload):
        return bound
    means, reduces = (True if one is None else one for one in old)
    kept = {name: value for name, value in bound.items() if name not in ("size_average", "reduce")}
    if reduces is False:
        return {**kept, "reduction": "none"}
    known = isinstance(reduces, bool) and isinstance(means, bool)
    return {**kept, "reduction": ("mean" if means else "sum") if known else Unknown()}


_BAG = "nn.functional.embedding_bag"


def _weight_second(machine: Machine, state: State, args: Args) -> Args:
    """embedding_bag(weight, input): torch warns, and takes the one that holds integers for the input."""
    first, second = (known_tensor(machine, state, value) for value in (*args.positional[:2], None, None)[:2])
    if first is None or second is None:
        return args
    floats, integers = tensor_at(state, first).dtype, tensor_at(state, second).dtype
    if not is_floating(floats) or can_require_grad(integers) is not False:
        return args
    return args._replace(positional=(second, first, *args.positional[2:]))


def _number_last(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Args:
    """x.add_(0.9, y) -> x.add_(y, alpha=0.9)"""
    one = canonical(entry.name)
    if one in FACTORS_FIRST:
        return _factors_last(machine, state, entry, args, node)
    name, count = ("alpha", 3) if one in ALPHA_FIRST else ("value", 4) if one in VALUE_FIRST else ("", 0)
    target, number, *rest = args.positional
    if count != len(args.positional) or not _is_number(number) or as_tensor(machine, state, rest[0], node) is None:
        return args
    machine.announce(state, FactorsMoved(node, entry.name.rpartition(".")[2], (name,)))
    return args._replace(positional=(target, *rest), keywords={**args.keywords, name: number})


def _factors_last(machine: Machine, state: State, entry: Entry, args: Args, node: cst.CSTNode) -> Args:
    """x.addmm(0.5, 2, a, b), torch.addmm(0.5, x, 2, a, b) -> x.addmm(a, b, beta=0.5, alpha=2)"""
    numbers = [value for value in args.positional if _is_number(value)]
    rest = tuple(value for value in args.positional if not _is_number(value))
    if len(numbers) not in (1, 2) or len(rest) != 3 or _is_number(args.positional[-2]):
        return args
    if any(as_tensor(machine, state, value, node) is None for value in rest):
        return args
    factors = dict(zip(("beta", "alpha"), numbers, strict=False))
    machine.announce(state, FactorsMoved(node, entry.name.rpartition(".")[2], tuple(factors)))
    return args._replace(positional=rest, keywords={**args.keywords, **factors})


def _is_number(value: Value) -> bool:
    known = isinstance(value, (int, float)) and not isinstance(value, bool)
    return known or (isinstance(value, Unknown) and value.kind in ("number", "int"))


def refuses_number_index(
    machine: Machine, state: State, record: Tensor, index: Value, node: cst.CSTNode, *, array: bool = False
) -> bool:
    """Refuse loss.data[0]: a tensor without dimensions, or the array of one, has no items. Says whether torch raises.

    Of a loss that the file does not show it is asked only for its number, in this way, and not where the file makes a
    loss function that does not reduce.
    """
    supposed = record.tags >= {SCALAR, "data"} and index == 0
    number = record.shape == () or (supposed and not machine.program.fragment_at(state).keeps_rows)
    if not number or isinstance(index, bool) or not isinstance(index, int):
        return False
    if not tests_version(state):
        machine.emit(NumberIndexed(node, array))
    return True
