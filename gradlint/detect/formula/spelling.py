"""Formulas that overflow or underflow where torch has a function that does not."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.detect.formula.terms import is_number, judges, op_of, operand, pair, term, unwrapped
from gradlint.detect.formula.value_range import is_bounded
from gradlint.domain.announcement import Operated
from gradlint.domain.fault.numerics import Stable, UnstableFormula
from gradlint.domain.graph import Term
from gradlint.domain.state import State


@judges("log")
def _log(state: State, it: Operated) -> Iterator[UnstableFormula]:
    """log(softmax), log(sigmoid), log(1 - sigmoid), log(1 + exp), log(sum(exp))"""
    inner = term(it)
    if inner is None:
        return
    name, node = op_of(inner), inner.node
    if name == "softmax":
        yield _by_hand(it, "log_softmax", inner)
    elif name == "sigmoid":
        yield _by_hand(it, "logsigmoid", inner)
    elif name in ("mul", "div"):
        yield from _scaled(it, inner)
    elif name in ("sub", "rsub"):
        left, right = pair(node) if name == "sub" else pair(node)[::-1]
        if is_number(left, 1) and isinstance(right, Term) and op_of(right) == "sigmoid":
            yield _by_hand(it, "logsigmoid of the negative", inner, right)
    elif name == "add":
        exponential = _one_plus_exp(inner)
        if exponential is not None:
            yield _by_hand(it, "softplus", inner, exponential)
    elif name in ("sum", "cumsum"):
        exponential = term(node)
        if exponential is not None and op_of(exponential) == "exp" and not _bounded_exponent(exponential):
            yield _by_hand(it, "logsumexp" if name == "sum" else "logcumsumexp", inner, exponential)


def _scaled(it: Operated, inner: Term) -> Iterator[UnstableFormula]:
    """log(softmax(x) * k): the logarithm of the factor is a term beside `log_softmax`."""
    left, right = pair(inner.node)
    if isinstance(left, Term) and op_of(left) == "softmax" and not isinstance(right, Term):
        yield _by_hand(it, "scaled log_softmax", inner, left)


@judges("log1p")
def _log1p(state: State, it: Operated) -> Iterator[UnstableFormula]:
    """log1p(exp(x))"""
    inner = term(it)
    if inner is not None and op_of(inner) == "exp" and not _bounded_exponent(inner):
        yield _by_hand(it, "softplus", inner)


@judges("div")
def _div(state: State, it: Operated) -> Iterator[UnstableFormula]:
    """exp(x) / sum(exp(x)), 1 / (1 + exp(-x))"""
    above, below = pair(it)
    if not isinstance(below, Term):
        return
    if is_number(above, 1):
        yield from _inverse(state, it, below)
    elif isinstance(above, Term) and op_of(above) == "exp":
        total = unwrapped(below)
        summed = term(total.node) if op_of(total) == "sum" else None
        if summed is not None and _same_exp(above, summed) and not _bounded_exponent(above):
            yield _by_hand(it, "softmax", total, above)


@judges("reciprocal")
def _reciprocal(state: State, it: Operated) -> Iterator[UnstableFormula]:
    """(1 + exp(-x)).reciprocal()"""
    inner = term(it, "input", "self")
    if inner is not None:
        yield from _inverse(state, it, inner)


def _inverse(state: State, it: Operated, below: Term) -> Iterator[UnstableFormula]:
    """Yield one over `1 + exp(-x)`: the value is right everywhere, and the gradient is NaN where `exp` overflows."""
    if state.grad is False or below.grad is False:
        return
    exponential = _one_plus_exp(below)
    if exponential is not None:
        yield _by_hand(it, "sigmoid", below, exponential)


def _same_exp(one: Term, other: Term) -> bool:
    """Return whether two terms are the exponential of the same value."""
    if one.node is other.node:
        return True
    mine, theirs = term(one.node), term(other.node)
    return op_of(other) == "exp" and mine is not None and theirs is not None and mine.node is theirs.node


def _one_plus_exp(found: Term) -> Term | None:
    """Return the exponential in `1 + exp(x)`, unless x is certainly small."""
    if op_of(found) != "add" or operand(found.node, "alpha") is not None:
        return None
    for one, exponential in (pair(found.node), pair(found.node)[::-1]):
        if is_number(one, 1) and isinstance(exponential, Term) and op_of(exponential) == "exp":
            return None if _bounded_exponent(exponential) else exponential
    return None


def _bounded_exponent(exponential: Term) -> bool:
    """Return whether the exponential of a term may not overflow: its exponent is bounded from above, or not recorded.

    A write in place records no operands.
    """
    exponent = term(exponential.node)
    return not exponential.node.operands or (exponent is not None and is_bounded(exponent))


def _by_hand(it: Operated, instead: Stable, *parts: Term) -> UnstableFormula:
    return UnstableFormula(it.node, instead, tuple(part.node.syntax for part in parts))
