from __future__ import annotations

import libcst as cst

from gradlint.domain.fault.backward import NonleafGradRead
from gradlint.rules.authoring.leaves import leaf_at_once, retained, updated_in_place
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import EventRule, Repair, Report


class NonleafGrad(EventRule[NonleafGradRead]):
    """`.grad` is read from a tensor that is not a leaf.

    What torch does
        It returns None, with a warning that is easily overlooked: "The .grad attribute of a Tensor
        that is not a leaf Tensor is being accessed." Gradients are stored only for leaves, and for
        results on which `retain_grad()` was called before the backward.

    Why it matters
        A tensor created with `requires_grad=True` is no longer a leaf after `2 *`, `.cuda()`,
        `.to(device)`, `.double()` or `.view()` in the same line: the name then refers to the result.

    When it may be wrong
        If `.to()` or `.double()` had nothing to do and returned the same tensor. gradlint does not
        report the line if it cannot tell.

    Instead
        Create the leaf last (`torch.ones(2, device=device, requires_grad=True)`, or `.to(device).requires_grad_()`),
        keep a separate name for the leaf, or call `retain_grad()` before the backward.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
    """

    code = "GRD206"
    name = "nonleaf-grad"
    effect = "silent"
    fix = "unsafe"
    bad = """\
import torch

x = 2 * torch.ones(2, 2, requires_grad=True)
x.pow(2).sum().backward()
slope = x.grad  # GRD206
"""
    bad_shows = "slope is None"
    good = """\
import torch

x = (2 * torch.ones(2, 2)).requires_grad_()
x.pow(2).sum().backward()
slope = x.grad
"""
    good_shows = "slope is not None"

    def check(self, event: NonleafGradRead) -> Report | None:
        """Report a read of a `.grad` that is certainly None."""
        return Report(
            event.node,
            "`.grad` is read from a tensor that is not a leaf: torch returns None with a warning",
            hint="read `.grad` from the leaf, or call `retain_grad()` on this tensor before the backward",
            related=((event.made, "this operation computes the tensor"),),
            repair=None if event.made is None else _repair(event.node, event.made),
        )


def _repair(read: cst.CSTNode, made: cst.CSTNode) -> Repair | None:
    """Update the leaf in place, make the result of the whole expression the leaf, or retain the gradient."""
    if ".grad" in code(made):
        return updated_in_place(made)
    return leaf_at_once(made, safe=False) or retained(read, made)
