"""Losses of the wrong operands: over another activation than they take, or over a column against a row."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from gradlint.detect.formula.terms import judges, op_of, operand, pair, term, unwrapped
from gradlint.domain.announcement import Operated
from gradlint.domain.assumption import Assumption, several_rows
from gradlint.domain.fault.losses import Activation, CrossedShapes, WrongActivation
from gradlint.domain.graph import Term
from gradlint.domain.shape import Dim, at_least_two
from gradlint.domain.state import State
from gradlint.facts import traits
from gradlint.facts.aliases import bare, canonical
from gradlint.facts.traits import ARITHMETIC, COLUMNS, DISTANCES, UNARY

_SCORES = traits.AFFINE | traits.ACTIVATIONS


@judges(*traits.LOSSES_OF_SCORES, *traits.LOSSES_OF_LOG_PROBABILITIES, *traits.LOSSES_OF_PROBABILITIES)
def _loss(state: State, it: Operated) -> Iterator[WrongActivation]:
    """Yield a loss over the last activation of a network."""
    found = term(it, "input", "log_probs")
    if found is None:
        return
    found = _before(found)
    takes, wrong = taken(canonical(it.op))
    made = op_of(found)
    inner = term(found.node) if made == "exp" else None
    if inner is not None and op_of(_before(inner)) == "log_softmax":
        made = "softmax"  # Which is what the exponential of its logarithm gives.
    if made in wrong:
        got = bare(found.node.op)
        yield WrongActivation(it.node, bare(it.op), takes, got, kind_of(made), found.node.syntax)


def taken(loss: str) -> tuple[Activation, traits.Trait]:
    """Return what a loss takes, and what it certainly must not get."""
    if loss in traits.LOSSES_OF_LOG_PROBABILITIES:
        return "log-probabilities", traits.PROBABILITIES | _SCORES
    if loss in traits.LOSSES_OF_PROBABILITIES:
        return "probabilities", traits.LOG_PROBABILITIES | traits.AFFINE | {"tanh"}
    # The logarithm of a softmax is left as it is by another one.
    wrong = traits.PROBABILITIES
    return "scores", wrong if loss == "cross_entropy" else wrong | traits.LOG_PROBABILITIES


def kind_of(op: str) -> Activation:
    """Return what an operation gives."""
    if op in traits.PROBABILITIES:
        return "probabilities"
    return "log-probabilities" if op in traits.LOG_PROBABILITIES else "scores"


def _before(found: Term) -> Term:
    """Return the activation before views and joins."""
    for _ in range(4):
        found = unwrapped(found)
        if op_of(found) not in traits.JOINS:
            return found
        inner = term(found.node, "tensors")
        if inner is None:
            return found
        found = inner
    return found


Sizes: TypeAlias = "tuple[Dim, ...]"


@judges(*DISTANCES)
def _pointwise(state: State, it: Operated) -> Iterator[CrossedShapes]:
    """Yield a loss that compares element by element."""
    prediction, target = term(it), term(it, "target")
    if prediction is None or target is None:
        return
    one, other = prediction.shape, target.shape
    if one is not None and other is not None and are_crossed(one, other):
        yield CrossedShapes(it.node, it.node, one, other, assumptions=_assumed(it, one, other))
        return
    for side in (prediction, target):
        yield from _crossings(it, side, 8)


@judges("mean", "sum")
def _reduced(state: State, it: Operated) -> Iterator[CrossedShapes]:
    """(prediction - target) squared, or its absolute value, over everything."""
    found = term(it)
    if found is None or it.operands.get("dim") is not None:
        return
    name = op_of(found)
    if name in ("abs", "square") or (name == "pow" and operand(found.node, "exponent") == 2):
        inner = term(found.node)
        if inner is not None and op_of(inner) == "sub":
            yield from _crossings(it, inner, 1)
    elif name == "mul":
        left, right = pair(found.node)
        same = isinstance(left, Term) and isinstance(right, Term) and left.node is right.node
        if same and isinstance(left, Term) and op_of(left) == "sub":
            yield from _crossings(it, left, 1)


def _crossings(it: Operated, found: Term, depth: int) -> Iterator[CrossedShapes]:
    """Find the arithmetic, in the formula of a term, in which a natural column is broadcast with a row."""
    name = op_of(found)
    if name not in ARITHMETIC or depth == 0:
        return
    left, right = pair(found.node)
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Term) and isinstance(other, Term) and _is_column(one) and _is_row(other):
            first, second = [side.shape or () for side in (left, right) if isinstance(side, Term)]
            yield CrossedShapes(it.node, found.node.syntax, first, second, assumptions=_assumed(it, first, second))
            return
    for one in (left, right):
        if isinstance(one, Term):
            yield from _crossings(it, one, depth - 1)


def _assumed(it: Operated, one: Sizes, other: Sizes) -> tuple[Assumption, ...]:
    """Return what a crossing rests on: that sizes that are not known are more than one."""
    known = all(dim == 1 or at_least_two(dim) for dim in (*one, *other))
    return () if known else (several_rows(it.op, it.node),)


def _is_row(found: Term) -> bool:
    """Return whether a term has one dimension, with more than one element in general."""
    return found.shape is not None and len(found.shape) == 1 and found.shape[0] != 1


def _is_column(found: Term, depth: int = 8) -> bool:
    """Return whether a term has the shape (N, 1) because the layer that computes it has one output."""
    shape = found.shape
    if shape is None or len(shape) != 2 or shape[1] != 1 or shape[0] == 1:
        return False
    name = op_of(found)
    if name in COLUMNS:
        return True
    if depth == 0:
        return False
    if name in UNARY:
        inner = term(found.node)
        return inner is not None and _is_column(inner, depth - 1)
    if name in ARITHMETIC:
        return any(isinstance(one, Term) and _is_column(one, depth - 1) for one in pair(found.node))
    return False


def are_crossed(one: Sizes, other: Sizes) -> bool:
    """Return whether two shapes broadcast so that both grow: `(N, 1)` against `(N,)` gives `(N, N)`."""
    rank = max(len(one), len(other))
    mine = (*([1] * (rank - len(one))), *one)
    theirs = (*([1] * (rank - len(other))), *other)
    grows = any(m == 1 and t != 1 for m, t in zip(mine, theirs, strict=True))
    return grows and any(t == 1 and m != 1 for m, t in zip(mine, theirs, strict=True))
