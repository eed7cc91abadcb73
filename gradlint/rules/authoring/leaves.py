"""Repairs that make the result of a whole expression the leaf, instead of a tensor inside it."""

from __future__ import annotations

import libcst as cst

from gradlint.facts.aliases import canonical
from gradlint.facts.traits import PICKS
from gradlint.rules.authoring.arguments import keyword_of, without
from gradlint.rules.authoring.repairs import bracketed, code, operand
from gradlint.rules.base import After, Change, Rebinding, Repair

_MOVES = PICKS | {"type"}
"""Methods whose result is computed from the tensor alone."""


def leaf_at_once(made: cst.CSTNode | None, *, safe: bool) -> Repair | None:
    """`torch.ones(3, requires_grad=True).to(device)` becomes `torch.ones(3).to(device).requires_grad_()`.

    Nothing else refers to the leaf inside the expression. `nn.Parameter` is moved outwards in the
    same way.
    """
    if not isinstance(made, (cst.Call, cst.BinaryOperation)):
        return None
    call = _innermost(made)
    if call is None or call is made:
        return None
    flag = keyword_of(call, "requires_grad")
    if flag is not None and code(flag.value) == "True":
        plain = code(made.deep_replace(call, without(call, flag)))
        text = f"{plain if operand(made) == code(made) else f'({plain})'}.requires_grad_()"
        return Repair("make the result the leaf", (Change(made, text),), safe)
    if code(call.func) in ("nn.Parameter", "torch.nn.Parameter", "Parameter") and len(call.args) == 1:
        plain = code(made.deep_replace(call, bracketed(call.args[0].value)))
        return Repair("make the result the parameter", (Change(made, f"{code(call.func)}({plain})"),), safe)
    return None


def _innermost(made: cst.BaseExpression) -> cst.Call | None:
    """Return the innermost call below methods in `_MOVES` and arithmetic with numbers."""
    if isinstance(made, cst.BinaryOperation):
        sides = [side for side in (made.left, made.right) if not isinstance(side, (cst.Integer, cst.Float))]
        return _innermost(sides[0]) if len(sides) == 1 else None
    if not isinstance(made, cst.Call):
        return None
    if isinstance(made.func, cst.Attribute) and canonical(made.func.attr.value) in _MOVES:
        return _innermost(made.func.value)
    return made


def updated_in_place(value: cst.CSTNode) -> Repair | None:
    """Turn `w = w - step` into `w -= step` under no_grad, so that `w` stays the leaf."""
    if not isinstance(value, (cst.BinaryOperation, cst.Call)):
        return None
    changes = (Rebinding(value, "with torch.no_grad():"),)
    return Repair("update the leaf in place", changes, safe=False, imports=("torch",))


def retained(read: cst.CSTNode, made: cst.CSTNode) -> Repair | None:
    """Call `x.retain_grad()` after the line that computes `x`."""
    if not isinstance(read, cst.Attribute) or not isinstance(read.value, cst.Name):
        return None
    name = read.value.value
    change = After(made, name, f"{name}.retain_grad()")
    return Repair(f"call `{name}.retain_grad()` after this line", (change,), safe=False)
