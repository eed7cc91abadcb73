"""Roots of what is zero for certain: an infinite slope, times the zero slope of a square, is NaN."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.detect.formula.constant import constant
from gradlint.detect.formula.register import judges
from gradlint.detect.formula.terms import term
from gradlint.detect.formula.zeros import zeros_in
from gradlint.domain.announcement import Operated
from gradlint.domain.fault.numerics import SingularPoint
from gradlint.domain.graph import Term
from gradlint.domain.shape import Dim, is_single
from gradlint.domain.state import State
from gradlint.facts.aliases import bare, canonical
from gradlint.facts.traits import SINGULAR_AT_ONE


@judges("sqrt", "pow")
def _root(state: State, it: Operated) -> Iterator[SingularPoint]:
    """x.sqrt(), x ** 0.5"""
    found, exponent = _input(state, it), 0.5 if canonical(it.op) == "sqrt" else it.operands.get("exponent")
    is_root = isinstance(exponent, float) and 0 < exponent < 1
    zeros = zeros_in(state, found) if is_root and found is not None else None
    if zeros is not None:
        yield SingularPoint(it.node, bare(it.op), zeros.syntax, zeros.kind, "NaN")


@judges("log", "log2", "log10", "rsqrt")
def _pole(state: State, it: Operated) -> Iterator[SingularPoint]:
    """x.log(); where the value is infinite as well, nobody begins with zeros but to mask them."""
    found = _input(state, it)
    zeros = None if found is None else zeros_in(state, found)
    if zeros is not None and zeros.kind != "fresh":
        yield SingularPoint(it.node, bare(it.op), zeros.syntax, zeros.kind, "infinite")


@judges(*SINGULAR_AT_ONE)
def _bound(state: State, it: Operated) -> Iterator[SingularPoint]:
    """torch.acos(x) with x exactly 1 or -1"""
    found = _input(state, it)
    number = None if found is None else constant(state, found)
    if found is not None and number in (1.0, -1.0):
        yield SingularPoint(it.node, bare(it.op), found.node.syntax, "bound", "infinite", number)


def _input(state: State, it: Operated) -> Term | None:
    """Return what an operation is computed of, if a gradient flows back to it."""
    found = term(it, "input", "self")
    return found if found is not None and found.grad is True and state.grad is True else None


@judges("std", "var")
def _spread(state: State, it: Operated) -> Iterator[SingularPoint]:
    """Yield the standard deviation of one element, of which there is none: 0 / 0."""
    found = _input(state, it)
    if found is None:
        return
    plain_call = set(it.operands) <= {"input", "self", "dim", "keepdim"}
    dim = it.operands.get("dim")
    shape = found.shape
    if not plain_call or not shape:
        return
    alone = is_single(shape) if dim is None else _is_one(shape, dim)
    if alone is True:
        yield SingularPoint(it.node, bare(it.op), found.node.syntax, "single", "NaN")


def _is_one(shape: tuple[Dim, ...], dim: object) -> bool:
    return isinstance(dim, int) and not isinstance(dim, bool) and -len(shape) <= dim < len(shape) and shape[dim] == 1
