"""Roots of what is zero for certain: an infinite slope, times the zero slope of a square, is NaN."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple, TypeAlias

import libcst as cst

from gradlint.detect.formula.terms import LONGEST, judges, op_of, operand, pair, term
from gradlint.domain.announcement import Operated
from gradlint.domain.fault.numerics import SingularPoint
from gradlint.domain.graph import Edge, Node, Term
from gradlint.domain.shape import Dim, Shape, is_single
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.facts import traits
from gradlint.facts.aliases import bare, canonical


def constant(state: State, found: Term, depth: int = LONGEST) -> float | None:
    """Return the number that a leaf begins with, or that is computed from it; None where no one number is known."""
    name, node = op_of(found), found.node
    if node.leaf is not None:
        made = term(node, "value")
        return None if made is None or is_written(state, node) else _filled(op_of(made))
    if depth == 0 or not node.operands:
        return None
    left, right = pair(node)
    if not isinstance(left, Term):
        return None
    if name == "trace":
        return _trace(state, left)
    inner = constant(state, left, depth - 1)
    if inner is None:
        return None
    if name in traits.ELEMENTS or name in ("mean", "abs"):
        return abs(inner) if name == "abs" else inner
    if name in traits.CLAMPS:
        return _clamped(node, inner)
    return _computed(name, inner, right) if isinstance(right, (int, float)) or right is None else None


def _filled(name: str) -> float | None:
    """Return the number that a creation function fills a tensor with."""
    return 0.0 if name in traits.ZEROS else 1.0 if name in traits.ONES else None


def is_written(state: State, leaf: Node) -> bool:
    """Return whether anything has been written to a leaf, as far as is known."""
    record = state.heap.get(leaf.leaf or 0)
    return not isinstance(record, Tensor) or bool(state.writes(record.counter) or state.writes(record.memory))


def _trace(state: State, found: Term) -> float | None:
    """Return the trace of a unit matrix that nothing has been written to."""
    node = found.node
    made = term(node, "value") if node.leaf is not None and not is_written(state, node) else None
    size = found.shape[0] if made is not None and op_of(made) == "eye" and found.shape else None
    return float(size) if isinstance(size, int) else None


def _clamped(node: Node, inner: float) -> float | None:
    low, high = operand(node, "min"), operand(node, "max")
    lowest = low if isinstance(low, (int, float)) else None
    highest = high if isinstance(high, (int, float)) else None
    if (lowest is None) != (low is None) or (highest is None) != (high is None):
        return None
    bounded = inner if lowest is None else max(inner, lowest)
    return bounded if highest is None else min(bounded, highest)


def _computed(name: str, inner: float, number: float | None) -> float | None:
    if name == "neg":
        return -inner
    if number is None:
        return None
    if name == "add":
        return inner + number
    if name == "sub":
        return inner - number
    if name == "mul":
        return inner * number
    return inner / number if name == "div" and number else None


Axes: TypeAlias = "tuple[int, int] | None"
"""The two dimensions on whose diagonal the zeros stand; None where all elements are zero."""


class Zeros(NamedTuple):
    """Where zeros come from, what makes them, and where in the tensor they stand.

    That is a value less itself, each row less each row, or what a leaf was made with.
    """

    syntax: cst.CSTNode
    kind: Literal["same", "rows", "fresh"]
    axes: Axes


def zeros_in(state: State, found: Term, depth: int = LONGEST) -> Zeros | None:
    """Return the zeros that a term certainly has."""
    name, node = op_of(found), found.node
    if node.leaf is not None:
        return _fresh_zeros(state, node)
    if depth == 0 or not node.operands:
        return None
    left, right = pair(node)
    if name == "sub" and isinstance(left, Term) and isinstance(right, Term):
        return _difference(state, node, left, right)
    if not isinstance(left, Term):
        return None
    if name in traits.DISTANCES:
        target = term(node, "target")
        return (
            None if target is None else _difference(state, node, left, target) or _of_zeros(state, node, left, target)
        )
    if name == "mul" and isinstance(right, Term):
        return zeros_in(state, left, depth - 1) or zeros_in(state, right, depth - 1)
    if name in traits.ZERO_AT_ZERO:
        return zeros_in(state, left, depth - 1)
    if name == "pow":
        return zeros_in(state, left, depth - 1) if isinstance(right, (int, float)) and right > 0 else None
    if name in traits.CLAMPS:
        return zeros_in(state, left, depth - 1) if _keeps_zero(node) else None
    if name in traits.MEANS:
        inner = zeros_in(state, left, depth - 1)
        return None if inner is None else _reduced(inner, node, left)
    return None


def _of_zeros(state: State, loss: Node, prediction: Term, target: Term) -> Zeros | None:
    """Return the loss of zeros against zeros that have no name, and so are what they were made as."""
    made, call = target.node.syntax, loss.syntax
    unnamed = isinstance(call, cst.Call) and made in [arg.value for arg in call.args]
    return zeros_in(state, prediction) if unnamed and op_of(target) in traits.ZEROS else None


def _keeps_zero(node: Node) -> bool:
    """Return whether a clamp keeps zeros, and their gradient, which it passes at its very bound, too (measured)."""
    low, high = operand(node, "min"), operand(node, "max")
    passes_above = high is None or (isinstance(high, (int, float)) and high > 0)
    return isinstance(low, (int, float)) and low <= 0 and passes_above


def _fresh_zeros(state: State, node: Node) -> Zeros | None:
    """Return a leaf made of zeros that nothing has been written to."""
    made = term(node, "value")
    if made is None or op_of(made) not in traits.ZEROS or is_written(state, node):
        return None
    return Zeros(node.syntax, "fresh", None)


def _difference(state: State, node: Node, left: Term, right: Term) -> Zeros | None:
    """x - x, or each row of x less each row of x: the diagonal is zero."""
    one, other = inserted(left), inserted(right)
    one_value = left.node is right.node  # A leaf less itself is zero, whatever is written to it.
    if one_value or is_alike(_original(left.node), _original(right.node), lambda leaf: not is_written(state, leaf)):
        return Zeros(node.syntax, "same", None)
    if one is None and other is not None:
        one = Inserted(left.node, 0)
    elif other is None and one is not None:
        other = Inserted(right.node, 0)
    if one is None or other is None or one.base is not other.base or abs(one.axis - other.axis) != 1:
        return None
    axes = (min(one.axis, other.axis), max(one.axis, other.axis))
    return Zeros(node.syntax, "rows", axes)


def _original(node: Node) -> Node:
    while op_of(Term(node)) in traits.COPIES:
        inner = term(node)
        if inner is not None:
            node = inner.node
        elif len(node.edges) == 1:
            node = node.edges[0].node
        else:
            break
    return node


class Inserted(NamedTuple):
    """A tensor with a dimension of size one put in, to be broadcast."""

    base: Node
    axis: int


def inserted(found: Term) -> Inserted | None:
    """Return the tensor in `x.unsqueeze(d)`, `x[:, None]`, `x.view(n, 1, d)`, and expansions of these."""
    name, node = op_of(found), found.node
    inner = term(node)
    if inner is None:
        return None
    if name in traits.EXPANDS or name == "contiguous":
        return inserted(inner)
    axis: int | None = None
    if name == "unsqueeze":
        axis = _from_the_front(operand(node, "dim"), None if found.shape is None else len(found.shape))
    elif name == "select":
        axis = _axis_of_none(operand(node, "index"))
    elif name in ("view", "reshape"):
        axis = _axis_of_one(inner.shape, found.shape)
    return None if axis is None else Inserted(inner.node, axis)


def _from_the_front(dim: object, rank: int | None) -> int | None:
    if not isinstance(dim, int):
        return None
    if dim >= 0:
        return dim
    return None if rank is None else dim + rank


def _axis_of_none(index: object) -> int | None:
    """Return the place of the one None in a subscript of whole slices."""
    entries = index if isinstance(index, tuple) else (index,)
    if sum(entry is None for entry in entries) != 1:
        return None
    axis = next(place for place, entry in enumerate(entries) if entry is None)
    whole = slice(None, None, None)
    after = all(entry is None or entry is ... or entry == whole for entry in entries)
    return axis if after and ... not in entries[:axis] else None


def _axis_of_one(before: Shape, after: Shape) -> int | None:
    """Return the one place where a size of one was put in."""
    if before is None or after is None or len(after) != len(before) + 1:
        return None
    places = [at for at, size in enumerate(after) if size == 1 and (*after[:at], *after[at + 1 :]) == before]
    return places[0] if len(places) == 1 else None


def _reduced(inner: Zeros, node: Node, before: Term) -> Zeros | None:
    """Return the zeros that stay when other dimensions are summed up."""
    if inner.axes is None:
        return inner
    dims = operand(node, "dim", "axis")
    listed = dims if isinstance(dims, tuple) else (dims,)
    # Of an unknown rank at least the rows are taken to have elements: the last dimension is not on the diagonal.
    rank = max(inner.axes) + 2 if before.shape is None else len(before.shape)
    found = [_from_the_front(dim, rank) for dim in listed]
    gone = {axis for axis in found if axis is not None}
    if len(gone) != len(listed) or gone & set(inner.axes):
        return None
    if operand(node, "keepdim") is True:
        return inner
    first, second = (axis - sum(dim < axis for dim in gone) for axis in inner.axes)
    return inner._replace(axes=(first, second))


# Formulas that are computed twice: the same operations on the same values, so that the results are equal.


def is_alike(one: Node, other: Node, unwritten: Callable[[Node], bool], depth: int = LONGEST) -> bool:
    """Return whether two results are certainly equal. `unwritten`: nothing has been written to a leaf.

    Data that no graph is recorded of may have changed in between: both operations must have saved them, at the same
    version.
    """
    if one is other:
        return one.leaf is None or unwritten(one)
    name = canonical(one.op)
    if depth == 0 or name not in traits.STEADY or name != canonical(other.op) or len(one.edges) != len(other.edges):
        return False
    if _settings(one) != _settings(other):
        return False
    kept, edges = bool(_kept(one) & _kept(other)), zip(one.edges, other.edges, strict=True)
    return all(_is_same_input(left, right, kept, unwritten, depth) for left, right in edges)


def _is_same_input(left: Edge, right: Edge, kept: bool, unwritten: Callable[[Node], bool], depth: int) -> bool:
    is_data = left.node.leaf is None and left.node.tracked is not True
    return (kept or not is_data) and is_alike(left.node, right.node, unwritten, depth - 1)


def _settings(node: Node) -> dict[str, object]:
    """Return the operands that are no tensors; those that are stand among the edges."""
    return {name: value for name, value in node.operands.items() if not isinstance(value, Term)}


def _kept(node: Node) -> set[tuple[int, int, int, int]]:
    return {(one.counter, one.version, one.memory, one.hidden) for one in node.saved}


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


@judges(*traits.SINGULAR_AT_ONE)
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
