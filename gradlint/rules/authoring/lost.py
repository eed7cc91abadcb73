"""Reports shared by the rules about leaves that no gradient reaches."""

from __future__ import annotations

import libcst as cst

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, Repair, Report


def report(event: LostLeaf, cut: str, hint: str, repair: Repair | None = None) -> Report:
    """Report a cut, and its consequence for the leaf before it."""
    leaf = "parameter" if event.parameter else "leaf"
    if event.raises:
        follows = "the backward of this loss raises"
    elif event.term:
        follows = "this term of the loss has no effect on training"
    elif event.idle:
        follows = "no parameter of its optimizer gets a gradient"
    else:
        follows = f"a {leaf} before it gets no gradient"
    lost = () if event.leaf is None else ((event.leaf, f"this {leaf} gets no gradient"),)
    return Report(
        event.node,
        f"{cut}: {follows}",
        hint=hint,
        related=(*lost, (event.backward, "the backward of the loss")),
        effect="raises" if event.raises else None,
        repair=repair,
    )


def without_call(event: LostLeaf, message: str, safe: bool = False) -> Repair | None:
    """Remove a method call: `x.item()` becomes `x`."""
    call = event.node
    if not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute) or call.args:
        return None
    return Repair(message, (Change(call, source(call.func.value)),), safe)
