"""Gradients that a custom function returns, against the derivative of what it computes.

Both are formulas, and both are evaluated at a few numbers: the derivative by central differences. Only operations that
work element by element are followed, so that a number stands for all elements of a tensor.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Literal, NamedTuple, TypeAlias

from gradlint.detect.formula.terms import op_of, operand, pair
from gradlint.domain.dtype import can_require_grad
from gradlint.domain.graph import Node, Term
from gradlint.facts import traits

POINTS = (-2.0, -1.1, -0.6, 0.3, 0.9, 1.7, 2.0)
"""The numbers that an argument is set to; the others have those of `_OTHERS`."""

_OTHERS = (1.3, 0.7, 1.9, 0.5, 2.3)
_STEP = 1e-4
_FEWEST = 3
"""At so many points at least a gradient is wrong."""

Numbers: TypeAlias = "dict[int, float]"
"""What nodes stand for."""


class Wrong(NamedTuple):
    """At `point`, an argument has the derivative `wanted`, and its gradient is `got` times the one that arrives.

    `masks`: the gradient that arrives decides where it is zero, and the argument does not.
    """

    point: float
    wanted: float
    got: float
    masks: bool


class Pass(NamedTuple):
    """A forward, and the gradient that backward returns for one of the arguments.

    `result` is the formula of forward; backward has `saved` in its place. `arrived` stands for the incoming gradient.
    """

    result: Term
    arguments: Sequence[Node]
    saved: Node
    arrived: Node
    gradient: Term


def wrong_gradient(one: Pass, position: int) -> Wrong | None:
    """Return where the gradient for an argument certainly is not the derivative, if it is wrong throughout.

    A function whose derivative is zero has a gradient of another on purpose, and so does one that returns its argument.
    """
    samples = [sample for point in POINTS if (sample := _sample(one, position, point)) is not None]
    if len(samples) < _FEWEST or all(sample.value == sample.point for sample in samples):
        return None
    if all(sample.wanted == 0 for sample in samples):
        return None
    if all(_is_linear(sample) for sample in samples):
        told = [sample for sample in samples if sample.wanted or sample.gradients[0]]
        if len(told) < _FEWEST or any(_agree(sample.wanted, sample.gradients[0]) for sample in told):
            return None
        last = told[-1]
        return Wrong(last.point, last.wanted, last.gradients[0], False)
    return _wrong_mask(samples)


def wrong_tangent(
    result: Term, arguments: Sequence[Node], tangents: Sequence[Node], tangent: Term, at: int
) -> Wrong | None:
    """Return where a tangent is not the derivative by an argument, times its tangent, if it is wrong throughout."""
    found: list[Wrong] = []
    for point in POINTS:
        others = {node.id: _OTHERS[index % len(_OTHERS)] for index, node in enumerate(arguments)}
        value, above, below = (
            _evaluated(result, {**others, arguments[at].id: point + step}) for step in (0, _STEP, -_STEP)
        )
        ones = {node.id: float(index == at) for index, node in enumerate(tangents)}
        got = _evaluated(tangent, {**others, **ones, arguments[at].id: point})
        if value is None or above is None or below is None or got is None:
            continue
        wanted = (above - below) / (2 * _STEP)
        if _agree(wanted, got):
            return None
        found.append(Wrong(point, wanted, got, False))
    return found[-1] if len(found) >= _FEWEST else None


def _wrong_mask(samples: list[_Sample]) -> Wrong | None:
    """Return where a function is flat, and its gradient is that which arrives, if that is positive."""
    if any(sample.gradients != samples[0].gradients for sample in samples):
        return None
    up, _, down = samples[0].gradients
    flat = [sample for sample in samples if sample.wanted == 0]
    if not flat or down != 0 or up == 0 or not all(_agree(one.wanted, up) for one in samples if one.wanted):
        return None
    return Wrong(flat[0].point, 0.0, up, True)


def misses(
    result: Term, arguments: Sequence[Node], position: int, tolerance: float
) -> Literal["cut", "bends", "slopes"] | None:
    """Return how a formula depends on an argument: "cut", if its gradient is another than the derivative throughout.

    The gradient flows through what is recorded alone. "slopes": the derivative is what it should be, and never zero;
    "bends": it is so large, too, that a gradient which a hook `changes` is further from it than the tolerance.
    """
    derivatives = [pair for point in POINTS if (pair := _derivatives(result, arguments, position, point)) is not None]
    if len(derivatives) < _FEWEST:
        return None
    wide = [abs(wanted - got) > 10 * tolerance and not _agree(wanted, got) for wanted, got in derivatives]
    if all(wide):
        return "cut"
    least = 0.0 if any(wide) else min(abs(wanted) for wanted, _ in derivatives)
    return "bends" if least * _CHANGED > 2 * tolerance else "slopes" if least > _STEP else None


def _derivatives(result: Term, arguments: Sequence[Node], position: int, point: float) -> tuple[float, float] | None:
    """Return the derivative by differences, and the same where what is not recorded stays as it is."""
    here, up, down = (_numbers(arguments, position, point + step) for step in (0, _STEP, -_STEP))
    whole = [_evaluated(result, numbers) for numbers in (up, down)]
    parts = [_evaluated(result, numbers, here) for numbers in (up, down)]
    above, below, higher, lower = (*whole, *parts)
    if above is None or below is None or higher is None or lower is None:
        return None
    return (above - below) / (2 * _STEP), (higher - lower) / (2 * _STEP)


_CHANGED = 5e-3
"""By so much at least a hook changes a gradient: the check takes 1e-3."""


def changes(gradient: Term, arrived: Node) -> Literal["changed", "added"] | None:
    """Return whether a hook certainly makes another gradient of the one that arrives.

    "added": it also makes one of nothing, which `gradcheck` refuses whatever the tolerance is.
    """
    pairs = [(number, _evaluated(gradient, {arrived.id: number})) for number in (1.0, 2.0, -1.0, 0.0)]
    differ = [value is not None and abs(number - value) > _CHANGED for number, value in pairs]
    return None if not all(differ[:3]) else "added" if differ[3] else "changed"


def _numbers(arguments: Sequence[Node], position: int, number: float) -> Numbers:
    """Return what the arguments stand for: one has the given number, the others have those of `_OTHERS`."""
    others = {node.id: _OTHERS[index % len(_OTHERS)] for index, node in enumerate(arguments)}
    return {**others, arguments[position].id: number}


class _Sample(NamedTuple):
    point: float
    value: float
    wanted: float
    gradients: tuple[float, float, float]
    """For incoming gradients of 1, 2 and -1."""


def _sample(one: Pass, position: int, point: float) -> _Sample | None:
    def at(number: float) -> Numbers:
        return _numbers(one.arguments, position, number)

    value, above, below = (_evaluated(one.result, at(point + step)) for step in (0, _STEP, -_STEP))
    if value is None or above is None or below is None:
        return None
    gradients = tuple(
        _evaluated(one.gradient, {**at(point), one.saved.id: value, one.arrived.id: arrived})
        for arrived in (1.0, 2.0, -1.0)
    )
    first, second, third = gradients
    if first is None or second is None or third is None:
        return None
    wanted = (above - below) / (2 * _STEP)
    return _Sample(point, value, 0.0 if abs(wanted) < 1e-7 else wanted, (first, second, third))


def _is_linear(sample: _Sample) -> bool:
    one, two, minus = sample.gradients
    return math.isclose(two, 2 * one, abs_tol=1e-9) and math.isclose(minus, -one, abs_tol=1e-9)


def _agree(one: float, other: float) -> bool:
    """Return whether two numbers are about the same: an approximation of a derivative is no fault."""
    return math.isclose(one, other, rel_tol=0.03, abs_tol=1e-3)


# The value of a formula.


def _evaluated(found: Term, numbers: Numbers, fixed: Numbers | None = None) -> float | None:
    """Return the number that a formula comes to; None where it is not known, or not a finite one.

    With `fixed`, what is not recorded is computed from these numbers.
    """
    try:
        value = _Evaluation(numbers, None if fixed is None else _Evaluation(fixed)).of(found)
    except (ArithmeticError, ValueError):  # What Python raises outside the domain of a function.
        return None
    return value if value is not None and math.isfinite(value) else None


class _Evaluation:
    """Evaluates each node once."""

    def __init__(self, numbers: Mapping[int, float], constants: _Evaluation | None = None) -> None:
        self._numbers: dict[int, float | None] = dict(numbers)
        self._constants = constants
        """Evaluates what is not recorded on the tape."""

    def of(self, found: object) -> float | None:
        """Return the value of an operand."""
        if isinstance(found, (bool, int, float)):
            return float(found)
        if not isinstance(found, Term):
            return None
        key = found.node.id
        if key not in self._numbers:
            self._numbers[key] = None
            constants = self._constants if found.node.tracked is False else None
            self._numbers[key] = self._computed(found) if constants is None else constants.of(found)
        return self._numbers[key]

    def _computed(self, found: Term) -> float | None:
        name, node = op_of(found), found.node
        if name in _LIKE:
            return _LIKE[name]
        left = self.of(operand(node, "input", "self"))
        copied = node.cut in _ALIASES or (node.cut in ("rewrap", "item") and node.op in _COPIED)
        if copied:
            left = self.of(Term(node.edges[0].node)) if len(node.edges) == 1 else None
        if name in _SELECTIONS:
            return self._selected(node, _SELECTIONS[name])
        if left is None:
            return None
        if name in traits.COPIES or name in traits.RESHAPES or copied:
            return left
        if name in traits.CONVERTS:
            return left if can_require_grad(found.dtype) or left in (0, 1) else None
        if name in traits.CLAMPS:
            return self._clamped(node, left)
        if name in _UNARY:
            return _UNARY[name](left)
        return self._of_two(name, node, left)

    def _of_two(self, name: str, node: Node, left: float) -> float | None:
        function = _BINARY.get(name)
        right = self.of(pair(node)[1])
        if function is None or right is None or operand(node, "rounding_mode") is not None:
            return None
        factor = operand(node, "alpha")
        scale = 1.0 if factor is None else self.of(factor)
        return None if scale is None else _real(function(left, scale * right))

    def _selected(self, node: Node, by: _Selection) -> float | None:
        """Return the one of two operands that a mask selects."""
        decides = self.of(operand(node, by.mask))
        return None if decides is None else self.of(operand(node, by.chosen if decides else by.otherwise))

    def _clamped(self, node: Node, value: float) -> float | None:
        least, most = operand(node, "min"), operand(node, "max")
        low = -math.inf if least is None else self.of(least)
        high = math.inf if most is None else self.of(most)
        return None if low is None or high is None else min(max(value, low), high)


def _real(value: object) -> float | None:
    """Return a real number: a negative one to a fractional power is a complex one."""
    return float(value) if isinstance(value, (bool, int, float)) else None


_LIKE = {**dict.fromkeys(traits.ZEROS, 0.0), **dict.fromkeys(traits.ONES, 1.0)}


_ALIASES = frozenset({"detach", "data"})
"""Cuts by which a tensor goes on without its graph, and with its value."""


_COPIED = frozenset({"tensor", "item", "tolist"})
"""Operations by which a value goes on without its tensor."""


class _Selection(NamedTuple):
    """The operands of a selection: the mask, what is chosen, and what is taken otherwise."""

    mask: str
    chosen: str
    otherwise: str


_SELECTIONS = {
    "where": _Selection("condition", "input", "other"),
    "masked_fill": _Selection("mask", "value", "input"),
    "index assignment": _Selection("indices", "value", "input"),
}

_UNARY: dict[str, Callable[[float], float]] = {
    "abs": abs,
    "acos": math.acos,
    "asin": math.asin,
    "atan": math.atan,
    "cos": math.cos,
    "cosh": math.cosh,
    "erf": math.erf,
    "exp": math.exp,
    "exp2": lambda x: 2.0**x,
    "expm1": math.expm1,
    "log": math.log,
    "log10": math.log10,
    "log1p": math.log1p,
    "log2": math.log2,
    "logical_not": operator.not_,
    "neg": operator.neg,
    "reciprocal": lambda x: 1 / x,
    "relu": lambda x: max(x, 0.0),
    "rsqrt": lambda x: 1 / math.sqrt(x),
    "sgn": lambda x: math.copysign(1.0, x) if x else 0.0,
    "sigmoid": lambda x: 1 / (1 + math.exp(-x)),
    "sign": lambda x: math.copysign(1.0, x) if x else 0.0,
    "silu": lambda x: x / (1 + math.exp(-x)),
    "sin": math.sin,
    "sinh": math.sinh,
    "sqrt": math.sqrt,
    "square": lambda x: x * x,
    "tan": math.tan,
    "tanh": math.tanh,
}

_BINARY: dict[str, Callable[[float, float], object]] = {
    "add": operator.add,
    "div": operator.truediv,
    "eq": operator.eq,
    "ge": operator.ge,
    "gt": operator.gt,
    "le": operator.le,
    "logical_and": lambda x, y: bool(x and y),
    "logical_or": lambda x, y: bool(x or y),
    "lt": operator.lt,
    "maximum": max,
    "minimum": min,
    "mul": operator.mul,
    "ne": operator.ne,
    "pow": operator.pow,
    "rsub": lambda x, y: y - x,
    "sub": operator.sub,
}
