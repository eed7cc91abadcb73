"""The numbers in a tensor, as far as they stand in the program."""

from __future__ import annotations

from gradlint.domain.graph import Term
from gradlint.domain.state import State
from gradlint.domain.value import Ref, Tensor, Value
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import ONES, ZEROS
from gradlint.interpreter.reachable import known_items

ELEMENTS = "elements"
"""The operand under which a tensor made of numbers of the program keeps them."""

_MOST = 256


def numbers_in(state: State, data: Value) -> tuple[float, ...]:
    """Return the numbers of nested lists; none where one of them is not known, or there are too many parts.

    A list may hold another one several times, or itself.
    """
    found: list[float] = []
    waiting = [data]
    for _ in range(_MOST):
        if not waiting:
            return tuple(found)
        value = waiting.pop()
        if isinstance(value, (bool, int, float)):
            found.append(value)
            continue
        items = known_items(state, value) if isinstance(value, (Ref, tuple)) else None
        if not items or len(items) > _MOST:
            return ()
        waiting.extend(items)
    return ()


def bounds_of(state: State, record: Tensor) -> tuple[float, float] | None:
    """Return the least and the greatest element of a tensor that was made of numbers, and never written to."""
    value = record.node.operands.get("value") if record.node.leaf is not None else None
    made = value.node if isinstance(value, Term) else record.node
    found = made.operands.get(ELEMENTS)
    if made.edges or record.view is not None or state.writes(record.counter) or state.writes(record.memory):
        return None
    if isinstance(found, tuple) and found:
        return min(found), max(found)
    if record.shape is None or not all(isinstance(size, int) and size > 0 for size in record.shape):
        return None
    name = canonical(made.op)
    return (0, 0) if name in ZEROS else (1, 1) if name in ONES else None


def truth_of(record: Tensor) -> bool | None:
    """Return whether `any` or `all` over no elements is true: torch says False and True, as Python does."""
    over = record.node.operands.get("input")
    none_of_them = isinstance(over, Term) and over.shape is not None and 0 in over.shape and record.shape == ()
    return {"any": False, "all": True}.get(canonical(record.node.op)) if none_of_them else None
