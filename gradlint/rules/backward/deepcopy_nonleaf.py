from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.repairs import operand
from gradlint.rules.base import Change, EventRule, Repair, Report


class DeepcopyNonleaf(EventRule[refusal.DeepcopiedNonleaf]):
    """`copy.deepcopy` is called on a tensor that is not a leaf, or on something that contains one.

    What torch does
        It raises a RuntimeError: "Only Tensors created explicitly by the user (graph leaves) support
        the deepcopy protocol at the moment." It does so for a tensor, for a list or dict that
        contains one, and for a module that has one as an attribute.

    Why it matters
        A module is often copied for a target network or a best checkpoint, long after its `forward` has
        stored an activation, a loss or a hidden state on `self`.

    When it may be wrong
        If code that gradlint does not see replaces the attribute before the copy.

    Instead
        Store `.detach()`ed tensors on `self`, copy `model.state_dict()` instead of the model, or clone
        the tensor: `y.detach().clone()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD211"
    name = "deepcopy-nonleaf"
    effect = "raises"
    raises = "Only Tensors created explicitly by the user"
    fix = "safe"
    torch_says = ("support the deepcopy protocol",)
    bad = """\
import copy

import torch

x = torch.ones(3, requires_grad=True)
best = copy.deepcopy(x * 2)  # GRD211
"""
    good = """\
import copy

import torch

x = torch.ones(3, requires_grad=True)
best = copy.deepcopy(x)
value = (x * 2).detach().clone()
"""

    def check(self, event: refusal.DeepcopiedNonleaf) -> Report | None:
        return Report(
            event.node,
            "`deepcopy` is called on a tensor that is not a leaf: torch raises here",
            hint="store `.detach()`ed tensors on the copied object, or copy its `state_dict()`",
            related=((event.made, "this operation computes the tensor"),),
            repair=_repair(event),
        )


def _repair(event: refusal.DeepcopiedNonleaf) -> Repair | None:
    """Clone the values of a tensor that is copied directly and not as part of another object."""
    node = event.node
    if not event.alone or not isinstance(node, cst.Call) or len(node.args) != 1 or node.args[0].star:
        return None
    new = f"{operand(node.args[0].value)}.detach().clone()"
    return Repair("write `.detach().clone()`", (Change(node, new),))
