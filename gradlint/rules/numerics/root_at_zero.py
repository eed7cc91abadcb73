from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import numerics as fault
from gradlint.rules.authoring.repairs import code, operand
from gradlint.rules.base import Change, EventRule, Repair, Report


class RootAtZero(EventRule[fault.SingularPoint]):
    """A root is taken of values that are exactly zero by construction.

    What torch does
        The derivative of `sqrt`, of `log`, and of a power between 0 and 1, is infinite at 0, and that of `acos`,
        `asin` and `atanh` at 1 and -1. Backward multiplies it by the derivative of the argument, which for a square
        or an absolute value is 0 there: the gradient is NaN. `x.norm()`, `torch.cdist` and `torch.linalg.vector_norm`
        handle this case and return a gradient of 0. The standard deviation of a single element is 0 / 0.

    Why it matters
        A matrix of pairwise distances contains the distance of every point to itself. The values are correct, a mask
        over the diagonal does not affect the gradient, and the first step makes all parameters NaN.

    When it may be wrong
        Values that are zero by construction are always zero at run time. A root of values that may
        become zero is not reported.

    Instead
        Use `torch.cdist` or `norm`, or add a small constant under the root: `(d.pow(2).sum(-1) + 1e-12).sqrt()`. A
        `clamp(min=0)` does not help, because it passes the gradient at its bound; `clamp(min=1e-12)` does.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.cdist.html
        https://github.com/pytorch/pytorch/issues/6394
    """

    code = "GRD406"
    name = "root-at-zero"
    effect = "silent"
    fix = "unsafe"
    bad = """\
import torch

points = torch.randn(5, 3, requires_grad=True)
difference = points[:, None, :] - points[None, :, :]
distance = difference.pow(2).sum(-1).sqrt()  # GRD406
distance.mean().backward()
"""
    bad_shows = "distance.isfinite().all() and points.grad.isnan().all()"
    good = """\
import torch

points = torch.randn(5, 3, requires_grad=True)
difference = points[:, None, :] - points[None, :, :]
(difference.pow(2).sum(-1) + 1e-12).sqrt().mean().backward()
"""
    good_shows = "points.grad.isfinite().all()"

    def check(self, event: fault.SingularPoint) -> Report | None:
        """Report a root of zeros, or the standard deviation of one element."""
        if event.kind == "single":
            what, hint = f"`{event.op}` of a single element", "use `unbiased=False`, or more elements"
        elif event.kind == "bound":
            what = f"`{event.op}` gets exactly {event.value:g}, the bound of its range"
            hint = "keep the values off the bound, or use `torch.atan2`"
        else:
            why = f" ({_ZEROS[event.kind]})" if event.kind in _ZEROS else ""
            what = f"`{event.op}` gets exact zeros{why}"
            hint = "add a small constant first, or use `cdist` or `norm`"
        related = () if event.kind == "single" else ((event.origin, "the values are computed here"),)
        said = f"{what}: its gradient there is {event.slope}"
        return Report(event.node, said, hint=hint, related=related, repair=_repair(event))


_ZEROS = {
    "same": "a value minus itself",
    "rows": "the difference of each row with itself",
    "fresh": "a tensor created as zeros",
}


def _repair(event: fault.SingularPoint) -> Repair | None:
    """Add a small constant under the root."""
    node, change = event.node, "add a small constant under the root"
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Power):
        return Repair(change, (Change(node.left, f"({code(node.left)} + 1e-12)"),), False)
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.func.attr.value != "sqrt":
        return None
    if node.args:
        given = node.args[0].value
        return Repair(change, (Change(given, f"{operand(given)} + 1e-12"),), False) if len(node.args) == 1 else None
    return Repair(change, (Change(node.func.value, f"({code(node.func.value)} + 1e-12)"),), False)
