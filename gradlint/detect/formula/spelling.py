"""Formulas that overflow or underflow where torch has a function that does not."""

from __future__ import annotations

import libcst as cst

from gradlint.detect.formula.register import judges
from gradlint.detect.formula.terms import is_number, op_of, operand, pair, term, unwrapped
from gradlint.detect.formula.value_range import is_bounded
from gradlint.domain.event import UnstableFormula
from gradlint.domain.graph import Term
from gradlint.interpreter.torch.operation import Operation


@judges("log")
def _log(call: Operation) -> None:
    """log(softmax), log(sigmoid), log(1 - sigmoid), log(1 + exp), log(sum(exp))"""
    inner = call.terms.get("input")
    if not isinstance(inner, Term):
        return
    name, node = op_of(inner), inner.node
    if name == "softmax":
        _say(call, "log_softmax", inner)
    elif name == "sigmoid":
        _say(call, "logsigmoid", inner)
    elif name in ("mul", "div"):
        _scaled(call, inner)
    elif name == "sub":
        left, right = pair(node)
        if is_number(left, 1) and isinstance(right, Term) and op_of(right) == "sigmoid":
            _say(call, "logsigmoid of the negative", inner, right)
    elif name == "rsub":
        left, right = pair(node)
        if is_number(right, 1) and isinstance(left, Term) and op_of(left) == "sigmoid":
            _say(call, "logsigmoid of the negative", inner, left)
    elif name == "add":
        exponential = _one_plus_exp(inner)
        if exponential is not None:
            _say(call, "softplus", inner, exponential)
    elif name in ("sum", "cumsum"):
        exponential = term(node)
        if exponential is not None and op_of(exponential) == "exp" and not _bounded_exponent(exponential):
            _say(call, "logsumexp" if name == "sum" else "logcumsumexp", inner, exponential)


def _scaled(call: Operation, inner: Term) -> None:
    """log(softmax(x) * k): the logarithm of the factor is a term beside `log_softmax`."""
    left, right = pair(inner.node)
    if isinstance(left, Term) and op_of(left) == "softmax" and not isinstance(right, Term):
        _say(call, "log_softmax plus the logarithm of the factor", inner, left)


@judges("log1p")
def _log1p(call: Operation) -> None:
    """log1p(exp(x))"""
    inner = call.terms.get("input")
    if isinstance(inner, Term) and op_of(inner) == "exp" and not _bounded_exponent(inner):
        _say(call, "softplus", inner)


@judges("div")
def _div(call: Operation) -> None:
    """exp(x) / sum(exp(x)), 1 / (1 + exp(-x))"""
    above, below = call.terms.get("input"), call.terms.get("other")
    if not isinstance(below, Term):
        return
    if is_number(above, 1):
        _inverse(call, below)
    elif isinstance(above, Term) and op_of(above) == "exp":
        total = unwrapped(below)
        summed = term(total.node) if op_of(total) == "sum" else None
        if summed is not None and _same_exp(above, summed) and not _bounded_exponent(above):
            _say(call, "softmax", total, above)


@judges("reciprocal")
def _reciprocal(call: Operation) -> None:
    """(1 + exp(-x)).reciprocal()"""
    inner = call.terms.get("input", call.terms.get("self"))
    if isinstance(inner, Term):
        _inverse(call, inner)


def _inverse(call: Operation, below: Term) -> None:
    """One over `1 + exp(-x)`: the value is right everywhere, and the gradient is NaN where `exp` overflows."""
    if call.state.grad is False or below.grad is False:
        return
    exponential = _one_plus_exp(below)
    if exponential is not None:
        _say(call, "sigmoid", below, exponential)


def _same_exp(one: Term, other: Term) -> bool:
    """Whether two terms are the exponential of the same value."""
    if one.node is other.node:
        return True
    mine, theirs = term(one.node), term(other.node)
    return op_of(other) == "exp" and mine is not None and theirs is not None and mine.node is theirs.node


def _one_plus_exp(found: Term) -> Term | None:
    """The exponential in `1 + exp(x)`, unless x is certainly small."""
    if op_of(found) != "add" or operand(found.node, "alpha") is not None:
        return None
    for one, exponential in (pair(found.node), pair(found.node)[::-1]):
        if is_number(one, 1) and isinstance(exponential, Term) and op_of(exponential) == "exp":
            return None if _bounded_exponent(exponential) else exponential
    return None


def _bounded_exponent(exponential: Term) -> bool:
    """Whether the exponential of a term cannot overflow: its exponent is bounded from above."""
    exponent = term(exponential.node)
    return exponent is not None and is_bounded(exponent)


def _say(call: Operation, instead: str, *parts: Term) -> None:
    nodes: tuple[cst.CSTNode, ...] = tuple(part.node.syntax for part in parts)
    call.machine.emit(UnstableFormula(call.node, instead, nodes))
