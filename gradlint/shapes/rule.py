"""What a size rule is: operands in, operands out.

A rule is a pure function of the arguments of one call, bound by torch's parameter names (`self` and `input`
are the same). It raises nothing: what it cannot tell is None in its answer.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from gradlint.domain.dtype import DType
from gradlint.domain.shape import Dim, Shape
from gradlint.facts.aliases import canonical
from gradlint.shapes.arguments import tensor
from gradlint.shapes.operand import Args, Operand, Result

Rule: TypeAlias = Callable[[Args], Result]
TypeChange: TypeAlias = Callable[[DType], DType]
ShapeRule: TypeAlias = Callable[[Args, tuple[Dim, ...]], Shape]

RULES: dict[str, Rule] = {}
"""The rule of each operation by its canonical name: `matmul`, `conv2d`, `nn.functional.unfold`."""


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Register a function as the rule of the named operations; an operation has one rule."""

    def register(function: Rule) -> Rule:
        for name in map(canonical, names):
            if name in RULES:
                raise ValueError(f"two size rules for {name}")
            RULES[name] = function
        return function

    return register


def same(dtype: DType) -> DType:
    """Return the type itself: what becomes of it in an operation that keeps it."""
    return dtype


def always(dtype: DType) -> TypeChange:
    """Return what becomes of a type in an operation with results of one certain type."""
    return lambda _: dtype


def shaped(*names: str, dtype: TypeChange = same) -> Callable[[ShapeRule], ShapeRule]:
    """Register what gives the shape of the result from a known shape of the input; `dtype` maps the input's type."""

    def register(function: ShapeRule) -> ShapeRule:
        def answer(args: Args) -> Result:
            self = tensor(args)
            return Operand(None if self.shape is None else function(args, self.shape), dtype(self.dtype))

        rule(*names)(answer)
        return function

    return register


def keeping(dtype: TypeChange, *names: str) -> Rule:
    """Return the rule of an operation that keeps the size of its input, the first of the named arguments."""

    def answer(args: Args) -> Result:
        self = tensor(args, *names)
        return Operand(self.shape, dtype(self.dtype))

    return answer
