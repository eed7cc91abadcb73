"""Roots of what is zero for certain: an infinite slope, times the zero slope of a square, is NaN."""

from __future__ import annotations

from gradlint.detect.formula.constant import constant
from gradlint.detect.formula.register import judges
from gradlint.detect.formula.terms import plain
from gradlint.detect.formula.zeros import zeros_in
from gradlint.domain.event import RootOfZero
from gradlint.domain.graph import Term
from gradlint.domain.shape import is_single
from gradlint.interpreter.torch.operation import Operation


@judges("sqrt")
def _sqrt(call: Operation) -> None:
    """x.sqrt()"""
    _judge(call)


@judges("log", "log2", "log10", "rsqrt")
def _pole(call: Operation) -> None:
    """x.log(); where the value is infinite as well, nobody begins with zeros but to mask them."""
    found = _input(call)
    zeros = None if found is None else zeros_in(call.state, found)
    if zeros is not None and not zeros.fresh:
        call.machine.emit(RootOfZero(call.node, plain(call.name), zeros.syntax, zeros.why, "infinite"))


@judges("acos", "asin", "atanh")
def _bound(call: Operation) -> None:
    """torch.acos(x) with x exactly 1 or -1"""
    found = _input(call)
    number = None if found is None else constant(call.state, found)
    if found is not None and number in (1.0, -1.0):
        why = f"{number:g}, the bound of its range"
        call.machine.emit(RootOfZero(call.node, plain(call.name), found.node.syntax, why, "infinite"))


@judges("pow")
def _pow(call: Operation) -> None:
    """x ** 0.5"""
    exponent = call.terms.get("exponent")
    if isinstance(exponent, float) and 0 < exponent < 1:
        _judge(call)


def _input(call: Operation) -> Term | None:
    """What an operation is computed of, if a gradient flows back to it."""
    found = call.terms.get("input", call.terms.get("self"))
    return found if isinstance(found, Term) and found.grad is True and call.state.grad is True else None


def _judge(call: Operation) -> None:
    found = _input(call)
    zeros = None if found is None else zeros_in(call.state, found)
    if zeros is not None:
        call.machine.emit(RootOfZero(call.node, plain(call.name), zeros.syntax, zeros.why))


@judges("std", "var")
def _spread(call: Operation) -> None:
    """The standard deviation of one element, of which there is none: 0 / 0."""
    found = _input(call)
    if found is None:
        return
    plain_call = set(call.terms) <= {"input", "self", "dim", "keepdim"}
    dim = call.terms.get("dim")
    shape = found.shape
    if not plain_call or not shape:
        return
    alone = is_single(shape) if dim is None else _is_one(shape, dim)  # type: ignore[arg-type]
    if alone is True:
        call.machine.emit(RootOfZero(call.node, plain(call.name), found.node.syntax, "one element has no spread"))


def _is_one(shape: tuple[object, ...], dim: object) -> bool:
    return isinstance(dim, int) and not isinstance(dim, bool) and -len(shape) <= dim < len(shape) and shape[dim] == 1
