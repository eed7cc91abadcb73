from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import optimizers as refusal
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report


class OptimizerWantsAList(EventRule[refusal.TensorForParameters]):
    """An optimizer is given a tensor instead of an iterable of tensors.

    What torch does
        It raises a TypeError: "params argument given to the optimizer should be an iterable of Tensors
        or dicts, but got torch.FloatTensor". A tensor can be iterated, but its rows are not leaves.

    Why it matters
        The brackets are often missing when a single tensor is optimized, such as an image, a code or a temperature.

    When it may be wrong
        If the line is never executed.

    Instead
        Put the tensor into a list: `torch.optim.SGD([w], lr=0.1)`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    """

    code = "GRD603"
    name = "optimizer-wants-a-list"
    effect = "raises"
    raises = "params argument given to the optimizer should be an iterable of Tensors or dicts"
    fix = "safe"
    bad = """\
import torch

image = torch.rand(3, 8, 8, requires_grad=True)
optimizer = torch.optim.Adam(image, lr=0.01)  # GRD603
"""
    good = """\
import torch

image = torch.rand(3, 8, 8, requires_grad=True)
optimizer = torch.optim.Adam([image], lr=0.01)
"""

    def check(self, event: refusal.TensorForParameters) -> Report | None:
        return Report(
            event.node,
            "this optimizer is given a tensor instead of a list of tensors: torch raises here",
            hint="put it into a list: `[w]`",
            repair=_listed(event.node),
        )


def _listed(node: cst.CSTNode) -> Repair | None:
    """Put the first argument in brackets."""
    if not isinstance(node, cst.Call) or not node.args:
        return None
    first = node.args[0].value
    return Repair("put it into a list", (Change(first, f"[{code(first)}]"),))
