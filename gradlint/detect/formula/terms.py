"""Formulas: a value read back as the operations that it was computed by, and who judges them.

An operation has one name there, however it is called (`gradlint.facts.aliases`). A formula ends at what is not an
operation with known operands.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from gradlint.domain.announcement import Operated
from gradlint.domain.event import Fault
from gradlint.domain.graph import Node, Term
from gradlint.domain.state import State
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import ELEMENTS


def operand(node: Node | Operated, *names: str) -> object:
    """Return the first operand under one of the names; None where there is none, or None is given."""
    for name in names:
        if name in node.operands:
            return node.operands[name]
    return None


def term(node: Node | Operated, *names: str) -> Term | None:
    """Return the first operand under one of the names, where it is a tensor."""
    found = operand(node, *(names or ("input",)))
    return found if isinstance(found, Term) else None


def is_number(value: object, number: float) -> bool:
    """Return whether an operand is certainly this number."""
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == number


def pair(node: Node | Operated) -> tuple[object, object]:
    """Return both operands of arithmetic."""
    return operand(node, "input"), operand(node, "other", "exponent", "tensor2")


def unwrapped(found: Term) -> Term:
    """Return the term whose elements a term repeats, through views, picks, and moves."""
    for _ in range(LONGEST):
        node = found.node
        if canonical(node.op) not in ELEMENTS:
            return found
        inner = term(node, "input", "tensor")
        if inner is None:
            if len(node.edges) != 1:
                return found
            inner = Term(node.edges[0].node)
        found = inner
    return found


LONGEST = 32
"""How far a formula is followed along one chain."""


def op_of(found: object) -> str:
    """Return the canonical name of the operation that a term is the result of; empty for what is no term."""
    return canonical(found.node.op) if isinstance(found, Term) else ""


Judge: TypeAlias = "Callable[[State, Operated], Iterator[Fault]]"

JUDGES: dict[str, list[Judge]] = {}
"""Judges by the canonical name of the operation."""


def judges(*names: str) -> Callable[[Judge], Judge]:
    """Register a function as a judge of the named operations."""

    def register(function: Judge) -> Judge:
        for name in names:
            JUDGES.setdefault(name, []).append(function)
        return function

    return register
