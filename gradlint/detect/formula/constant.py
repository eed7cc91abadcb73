"""Formulas of constants: the one number that every element of a tensor certainly is."""

from __future__ import annotations

from gradlint.detect.formula.terms import LONGEST, op_of, operand, pair, term
from gradlint.domain.graph import Node, Term
from gradlint.domain.state import State
from gradlint.domain.value import Tensor
from gradlint.facts.traits import CLAMPS, ELEMENTS, ONES, ZEROS


def constant(state: State, found: Term, depth: int = LONGEST) -> float | None:
    """Return the number that a leaf begins with, or that is computed from it; None where it is not known, or not
    one.
    """
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
    if name in ELEMENTS or name in ("mean", "abs"):
        return abs(inner) if name == "abs" else inner
    if name in CLAMPS:
        return _clamped(node, inner)
    return _computed(name, inner, right) if isinstance(right, (int, float)) or right is None else None


def _filled(name: str) -> float | None:
    """Return the number that a creation function fills a tensor with."""
    return 0.0 if name in ZEROS else 1.0 if name in ONES else None


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
