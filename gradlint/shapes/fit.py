"""Whether an operation takes its operands, by their sizes: the check of an operation, whichever family it is of."""

from __future__ import annotations

from functools import cache
from importlib import import_module

from gradlint.facts.aliases import canonical
from gradlint.facts.ranks import MOST, ranks_of
from gradlint.shapes.infer import rule_of
from gradlint.shapes.misfit import CHECKS, Check, Misfit, differ, dimension
from gradlint.shapes.operand import Operand

import_module(f"{__package__}.misfit_layout")

_NO_AXIS = frozenset({"cosine_similarity"})
"""Operations with a `dim` that is one of what they broadcast."""


@cache
def check_of(op: str) -> Check | None:
    """Return the check of an operation or module by any of its names; most know of `dim` only."""
    name = canonical(op)
    found = CHECKS.get(op) or CHECKS.get(name)
    return found or (dimension if rule_of(op) is not None and name not in _NO_AXIS else None)


def alone(op: str, only: Operand) -> Misfit | None:
    """Refuse a tensor that an operation is given alone, with other dimensions than it takes."""
    ranks, shape = ranks_of(canonical(op)), only.shape
    if ranks is None or shape is None or only.scalar:
        return None
    if min(len(shape), MOST) not in ranks.taken:
        return Misfit("rank", (shape,), ranks.taken)
    return Misfit("square", (shape,)) if ranks.square and differ(*shape[-2:]) else None
