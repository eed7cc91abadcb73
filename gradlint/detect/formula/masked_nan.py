"""Selections that hide an infinite or undefined value, and multiply its derivative by zero: the gradient is NaN.

The condition itself proves that the excluded numbers come up: `where(x > 0, log(x), 0)` says that x may be zero.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

from gradlint.detect.formula.terms import is_number, judges, op_of, operand, pair, term, unwrapped
from gradlint.domain.announcement import Operated
from gradlint.domain.fault.numerics import MaskedSingularity
from gradlint.domain.graph import Node, Term
from gradlint.domain.state import State
from gradlint.domain.walk import reachable
from gradlint.facts import traits
from gradlint.facts.aliases import bare, canonical

Selection: TypeAlias = Literal["where", "masked_fill", "masked_select", "product", "subscript"]


class Excluded(NamedTuple):
    """Which numbers of a subject a selection excludes, as far as matters: zero, and numbers below zero."""

    subject: Node
    zero: bool
    negative: bool


@judges("where")
def _where(state: State, it: Operated) -> Iterator[MaskedSingularity]:
    """where(condition, a, b)"""
    condition = term(it, "condition")
    for branch, taken in ((term(it, "input", "self"), True), (term(it, "other"), False)):
        if condition is not None and branch is not None:
            yield from _hidden(state, it, branch, condition, taken, "where")


@judges("masked_fill")
def _masked_fill(state: State, it: Operated) -> Iterator[MaskedSingularity]:
    """x.masked_fill(mask, value): the mask names what is excluded"""
    yield from _masked(state, it, "mask", False, "masked_fill")


@judges("masked_select")
def _masked_select(state: State, it: Operated) -> Iterator[MaskedSingularity]:
    """x.masked_select(mask)"""
    yield from _masked(state, it, "mask", True, "masked_select")


@judges("index")
def _index(state: State, it: Operated) -> Iterator[MaskedSingularity]:
    """x[mask]"""
    yield from _masked(state, it, "indices", True, "subscript")


def _masked(state: State, it: Operated, name: str, taken: bool, by: Selection) -> Iterator[MaskedSingularity]:
    values, mask = term(it, "input", "self"), term(it, name)
    if values is not None and mask is not None:
        yield from _hidden(state, it, values, mask, taken, by)


@judges("nan_to_num")
def _nan_to_num(state: State, it: Operated) -> Iterator[MaskedSingularity]:
    """nan_to_num(x): something is expected to be infinite or NaN"""
    values = term(it, "input", "self")
    if values is not None and values.grad is True and state.grad is True:
        found = singular(values, None)
        if found is not None:
            yield MaskedSingularity(found.syntax, bare(found.op), it.node, "nan_to_num")


@judges("mul")
def _mul(state: State, it: Operated) -> Iterator[MaskedSingularity]:
    """mask * x"""
    left, right = term(it, "input"), term(it, "other")
    for mask, values in ((left, right), (right, left)):
        if mask is not None and values is not None:
            mask = (term(mask.node) if op_of(mask) in traits.CONVERTS else None) or mask
            if op_of(mask) in traits.COMPARISONS:
                yield from _hidden(state, it, values, mask, True, "product")


def excluded(condition: Term, taken: bool) -> list[Excluded]:
    """Return what is left out of the elements for which a condition is true, or for which it is false."""
    name, node = op_of(condition), condition.node
    if name in ("logical_not", "bitwise_not"):
        inner = term(node)
        return [] if inner is None else excluded(inner, not taken)
    if name in ("logical_and", "bitwise_and") and taken:
        return [one for part in pair(node) if isinstance(part, Term) for one in excluded(part, taken)]
    if name == "bool":
        inner = term(node)
        return [] if inner is None or not taken else [Excluded(inner.node, True, False)]
    if name not in traits.COMPARISONS:
        return []
    left, right = pair(node)
    if isinstance(left, Term) and isinstance(right, (int, float)):
        found = _against(left, name if taken else traits.NEGATED[name], right)
    elif isinstance(right, Term) and isinstance(left, (int, float)):
        found = _against(right, traits.MIRRORED[name] if taken else traits.NEGATED[traits.MIRRORED[name]], left)
    else:
        return []
    return [found]


def _against(subject: Term, kept: str, bound: float) -> Excluded:
    """Return what `subject kept bound` leaves out: zero itself, and numbers below zero."""
    compare = _COMPARE[kept]
    negative = not all(compare(number, bound) for number in (-math.inf, min(bound, _BELOW_ZERO), _BELOW_ZERO))
    return Excluded(subject.node, not compare(0, bound), negative)


_BELOW_ZERO = -5e-324
_COMPARE: dict[str, Callable[[float, float], bool]] = {name: getattr(operator, name) for name in traits.NEGATED}


def _hidden(
    state: State, it: Operated, values: Term, condition: Term, taken: bool, by: Selection
) -> Iterator[MaskedSingularity]:
    """Search the formula of the values for an operation that is singular at what the condition excludes."""
    if state.grad is not True or values.grad is not True:
        return
    found: Node | None = None
    if op_of(condition) in traits.FINITE_TESTS:
        subject = term(condition.node)
        if subject is not None and subject.node is values.node:
            found = singular(values, None)
    for one in excluded(condition, taken):
        found = found or singular(values, one)
    if found is not None:
        yield MaskedSingularity(found.syntax, bare(found.op), it.node, by)


def singular(values: Term, without: Excluded | None, steps: int = 24) -> Node | None:
    """Return the operation in a formula that divides by the subject, or takes its root or logarithm, where it is
    excluded.

    Without a subject any such operation counts, for something is known to be infinite or NaN.
    """

    def factors(node: Node) -> list[Node]:
        if canonical(node.op) not in _ELEMENTWISE:
            return []
        return [one.node for one in node.operands.values() if isinstance(one, Term) and is_part(one.node)]

    def is_part(node: Node) -> bool:
        return node.tracked is True and (without is None or node is not without.subject)

    parts = reachable(filter(is_part, [values.node]), factors, steps)
    return next((node for node in parts if _is_singular(node, without)), None)


_ELEMENTWISE = traits.ELEMENTS | traits.UNARY | traits.ARITHMETIC | {"pow"}
"""Operations that give an element to each element: a zero gradient stays zero on its way through them."""


def _is_singular(node: Node, without: Excluded | None) -> bool:
    name = canonical(node.op)
    left, right = pair(node)
    if any(one.hidden for one in node.saved):
        return False  # Written through `.data` before: what would be singular may have been replaced.
    if name == "div" and isinstance(right, Term):
        if without is None:
            return not _is_kept_from_zero(right)
        return without.zero and vanishes_with(right.node, without.subject)
    if not isinstance(left, Term):
        return False
    if without is None:
        return name in traits.SINGULAR
    if left.node is not without.subject:
        # What vanishes with the subject is zero where that is, and nothing is known of numbers below zero.
        without = without._replace(negative=False)
        if not without.zero or not vanishes_with(left.node, without.subject):
            return False
    if name in traits.POLES:
        return without.zero
    if name in traits.ROOTS:
        return without.zero or without.negative
    return name == "pow" and _is_singular_power(operand(node, "exponent"), without)


def _is_kept_from_zero(divisor: Term) -> bool:
    """Return whether the program has seen to it that a divisor is not zero: `x.clamp(min=eps)`, `x + eps`."""
    node = unwrapped(divisor).node
    if canonical(node.op) in traits.CLAMPS:
        low = operand(node, "min")
        return low is not None and not is_number(low, 0)
    return canonical(node.op) == "add" and any(not isinstance(one, Term) for one in pair(node))


def vanishes_with(node: Node, subject: Node, steps: int = 4) -> bool:
    """Return whether a value is zero wherever the subject is: a product with it, or a power of one."""
    if node is subject:
        return True
    if not steps or canonical(node.op) not in traits.ZERO_AT_ZERO:
        return False
    factors = [one for one in pair(node) if isinstance(one, Term)]
    if canonical(node.op) == "div":
        factors = factors[:1]
    return any(vanishes_with(one.node, subject, steps - 1) for one in factors)


def _is_singular_power(exponent: object, without: Excluded) -> bool:
    """Return whether a power is singular: one below 1 has an infinite slope at zero, a broken one is NaN below it."""
    if not isinstance(exponent, (int, float)) or isinstance(exponent, bool):
        return False
    broken = exponent != int(exponent)
    return (without.zero and exponent < 1 and exponent != 0) or (without.negative and broken)
