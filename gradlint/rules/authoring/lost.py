"""What the rules about cuts have in common: how they tell of a leaf that no gradient reaches."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, Repair, Report


def report(event: LostLeaf, cut: str, hint: str, repair: Repair | None = None) -> Report:
    """The report at the cut: what happens there, and what follows for the leaf behind it."""
    leaf = "parameter" if event.parameter else "leaf"
    if event.raises:
        follows = "the backward of this loss raises"
    elif event.term:
        follows = "this term of the loss trains nothing"
    elif event.idle:
        follows = "no parameter of its optimizer is ever trained"
    else:
        follows = f"a {leaf} behind it gets no gradient"
    return Report(
        event.node,
        f"{cut}: {follows}",
        hint=hint,
        related=((event.leaf, f"this {leaf} is lost"), (event.backward, "the backward of the loss")),
        effect="raises" if event.raises else None,
        repair=repair,
    )


def without_call(event: LostLeaf, message: str, safe: bool = False) -> Repair | None:
    """The repair that leaves a method call away: `x.item()` becomes `x`."""
    call = event.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.args:
        return None
    return Repair(message, (Change(call, source(call.func.value)),), safe)
