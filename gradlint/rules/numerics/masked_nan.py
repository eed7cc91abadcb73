from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import numerics as fault
from gradlint.domain.finding import Severity
from gradlint.facts.aliases import canonical
from gradlint.facts.traits import POLES, ROOTS
from gradlint.rules.authoring.arguments import argument_of, holds
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report

_TAKES = {"div": "the divisor", "pow": "the base"}
_MASKS = {"product": "a product with a mask", "subscript": "a subscript"}


class MaskedNan(EventRule[fault.MaskedSingularity]):
    """A mask removes infinite or undefined values from the result but not from the gradient.

    What torch does
        `torch.where(x > 0, x.log(), 0)` is correct everywhere, but its gradient at 0 is NaN: the mask
        passes a gradient of 0 to the logarithm, whose derivative there is infinite, and 0 times infinity
        is NaN. The same happens with `sqrt`, a division, a fractional power, and with every other way of
        selecting: a product with the mask, a subscript, `masked_fill`, `nan_to_num`.

    Why it matters
        The loss is finite. A single element at the excluded value makes the gradient of every tensor it
        was computed from NaN, and the next optimizer step makes every parameter NaN.

    When it may be wrong
        If the excluded value never occurs. Then the mask is unnecessary.

    Instead
        Mask the input as well as the result: `safe = torch.where(x > 0, x, 1)` and then `torch.where(x > 0, safe.log(),
        0)`. Or compute on the selected elements only (`x[x > 0].log()`), or bound the input (`x.clamp(min=1e-8)`).

    References
        https://docs.pytorch.org/docs/stable/generated/torch.where.html
        https://github.com/pytorch/pytorch/issues/4132
    """

    code = "GRD405"
    name = "masked-nan"
    effect = "silent"
    fix = "safe"
    bad = """\
import torch

x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
loss = torch.where(x > 0, torch.log(x), 0.0).sum()  # GRD405
loss.backward()
"""
    bad_shows = "loss.isfinite() and x.grad.isnan().any()"
    good = """\
import torch

x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
torch.where(x > 0, x.clamp(min=1e-8).log(), 0.0).sum().backward()
"""
    good_shows = "x.grad.isfinite().all()"

    @property
    def severity(self) -> Severity:
        """Return what its figure in real code allows: often the masked values are detached, or cannot be excluded."""
        return "warning"

    def check(self, event: fault.MaskedSingularity) -> Report | None:
        takes = _TAKES.get(canonical(event.op), "the argument")
        mask = _MASKS.get(event.by, f"`{event.by}`")
        return Report(
            event.node,
            f"{mask} removes the result of `{event.op}` at the masked elements, but its gradient there is NaN",
            hint=f"mask {takes} of `{event.op}` first, so that it never gets their values",
            related=((event.mask, "the mask is applied here"),),
            repair=_repair(event),
        )


_FINITE_AT_ONE = POLES | ROOTS | {"div"}
"""Operations that are finite at 1, and so are their derivatives."""


def _repair(event: fault.MaskedSingularity) -> Repair | None:
    """`where(c, x.log(), 0)` becomes `where(c, where(c, x, 1).log(), 0)`: for an operation inside the `where`."""
    mask = event.mask
    if canonical(event.op) not in _FINITE_AT_ONE or not isinstance(mask, cst.Call) or len(mask.args) != 3:
        return None
    if any(arg.keyword is not None or arg.star for arg in mask.args):
        return None
    condition, *branches = (arg.value for arg in mask.args)
    given = _argument(event.node)
    place = next((place for place, branch in enumerate(branches) if holds(branch, event.node)), None)
    if given is None or place is None or not isinstance(mask.func, cst.Attribute):
        return None
    kept, filled = (code(given), "1") if place == 0 else ("1", code(given))
    new = f"torch.where({code(condition)}, {kept}, {filled})"
    return Repair("mask the argument as well", (Change(given, new),), True, ("torch",))


def _argument(node: cst.CSTNode) -> cst.BaseExpression | None:
    """Return the operand in which an operation is singular: its argument, its receiver, or the divisor."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide):
        return node.right
    return argument_of(node) if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) else None
