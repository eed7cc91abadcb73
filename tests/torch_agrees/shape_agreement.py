"""Judging the size rules by what torch really gives, for known and for partly forgotten arguments."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import torch

from gradlint.domain import dtype as dtypes
from gradlint.domain.shape import Sym, covers
from gradlint.shapes.operand import NOTHING, UNKNOWN, Operand, Result, Several
from tests.torch_agrees.torch_calls import type_name

Value = Any
Valuation = dict[Sym, int]


def contradiction(answer: Result, output: Value, valuation: Valuation) -> str | None:
    """What is wrong in an answer, or None if what torch gave lies inside it."""
    if isinstance(output, torch.Tensor):
        return _tensor_contradiction(answer, output, valuation)
    if isinstance(output, tuple | list) and not isinstance(output, torch.Size):
        return _several_contradiction(answer, output, valuation)
    return None if answer == NOTHING else f"{answer} for a {type(output).__name__}"


def _tensor_contradiction(answer: Result, output: torch.Tensor, valuation: Valuation) -> str | None:
    if isinstance(answer, Several):
        return f"{answer} for one tensor"
    if not covers(answer.shape, tuple(output.shape), valuation):
        return f"shape {answer.shape} for {tuple(output.shape)}"
    if not dtypes.covers(answer.dtype, type_name(output.dtype)):
        return f"type {answer.dtype} for {output.dtype}"
    return None


def _several_contradiction(answer: Result, outputs: Sequence[Value], valuation: Valuation) -> str | None:
    if isinstance(answer, Operand):
        return None if answer == NOTHING else f"{answer} for {len(outputs)} results"
    if answer.items is None:
        # Where the items differ in one dimension its symbol is another one in every item.
        ragged = answer.ragged
        own = [dim for place, dim in enumerate(answer.each.shape or ()) if place == ragged]
        for output in outputs:
            kept = {symbol: value for symbol, value in valuation.items() if symbol not in own}
            wrong = contradiction(answer.each, output, kept)
            if wrong is not None:
                return wrong
            valuation.update({symbol: value for symbol, value in kept.items() if symbol not in own})
        return None
    if len(answer.items) != len(outputs):
        return f"{len(answer.items)} results for {len(outputs)}"
    names = tuple(getattr(outputs, "_fields", ())) or _return_fields(outputs)
    if names and answer.fields and names != answer.fields:
        return f"fields {answer.fields} for {names}"
    wrongs = [contradiction(item, output, valuation) for item, output in zip(answer.items, outputs, strict=True)]
    return next((wrong for wrong in wrongs if wrong is not None), None)


def _return_fields(outputs: Sequence[Value]) -> tuple[str, ...]:
    """The names of one of torch's structured results, in order."""
    if not type(outputs).__module__.startswith("torch.return_types"):
        return ()
    members = [name for name in dir(outputs) if not name.startswith(("_", "n_")) and name not in ("count", "index")]
    return tuple(sorted(members, key=lambda name: next(
        place for place, item in enumerate(outputs) if item is getattr(outputs, name)
    )))  # fmt: skip


def is_exact(answer: Result, output: Value) -> bool:
    """Whether an answer says everything: each size is a number and each type a name."""
    if isinstance(answer, Several):
        return answer.items is not None and all(
            is_exact(item, one) for item, one in zip(answer.items, output, strict=False)
        )
    if not isinstance(output, torch.Tensor):
        return not isinstance(output, tuple | list)
    sizes = answer.shape is not None and all(isinstance(dim, int) for dim in answer.shape)
    return sizes and answer.dtype not in (None, "float", "int")


class Forgetter:
    """Replaces parts of arguments by symbols, kinds and `UNKNOWN`, and knows what the symbols stand for."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.valuation: Valuation = {}
        self.rate = self.random.choice((0.1, 0.3, 0.6))

    def forget(self, value: Value, argument: bool = True) -> Value:
        """A value that is the given one or holds it."""
        chance = self.random.random()
        if isinstance(value, Operand):
            return UNKNOWN if argument and chance < self.rate / 6 else self._forget_operand(value)
        if isinstance(value, str) or value is None or value is Ellipsis:
            return value if chance > self.rate / 4 else UNKNOWN
        if isinstance(value, tuple | list):
            if argument and chance < self.rate / 6:
                return UNKNOWN
            items = [self.forget(item) for item in value]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, slice):
            return slice(*[self._forget_number(part) for part in (value.start, value.stop, value.step)])
        return self._forget_number(value)

    def _forget_number(self, value: Value) -> Value:
        chance = self.random.random()
        if value is None or chance > self.rate:
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            return UNKNOWN
        if chance < self.rate / 3:
            return Operand((), "int64", scalar=True)
        return self.symbol(value) if value >= 0 and chance < self.rate * 2 / 3 else UNKNOWN

    def _forget_operand(self, value: Operand) -> Operand:
        shape = value.shape
        chance = self.random.random()
        if chance < self.rate / 5:
            shape = None
        elif shape is not None:
            shape = tuple([self._forget_size(dim) for dim in shape])
        return Operand(shape, self._forget_type(value.dtype), value.scalar)

    def _forget_size(self, dim: Value) -> Value:
        return self.symbol(dim) if isinstance(dim, int) and self.random.random() < self.rate else dim

    def _forget_type(self, dtype: str | None) -> str | None:
        chance = self.random.random()
        if dtype is None or chance > self.rate / 2:
            return dtype
        if chance < self.rate / 4:
            return None
        return "float" if dtypes.is_floating(dtype) else "int" if dtype in dtypes.INTS else dtype

    def symbol(self, size: int) -> Sym:
        """A symbol for a size: one that stands for the same size already, or a fresh one."""
        known = [symbol for symbol, value in self.valuation.items() if value == size]
        if known and self.random.random() < 0.5:
            return self.random.choice(known)
        symbol = Sym(many=size >= 2 and self.random.random() < 0.5)
        self.valuation[symbol] = size
        return symbol
