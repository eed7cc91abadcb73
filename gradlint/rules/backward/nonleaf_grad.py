"""GRD206: `.grad` of a tensor that is no leaf is read."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault.backward import NonleafGradRead
from gradlint.rules.authoring.leaves import leaf_at_once, retained, updated_in_place
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Bad, Good, Repair, Report, Rule


class NonleafGrad(Rule):
    """`.grad` of a tensor that is no leaf is read.

    What torch does
        It gives None, with a warning that is easily lost: "The .grad attribute of a Tensor that is not
        a leaf Tensor is being accessed." Gradients are kept for leaves only, and for results on which
        `retain_grad()` was called before the backward.

    Why it matters
        A tensor made with `requires_grad=True` is no leaf any more after `2 *`, `.cuda()`,
        `.to(device)`, `.double()` or `.view()` in the same line: the name then stands for the result.

    When it may be wrong
        Where the tensor is the same object, because `.to()` or `.double()` had nothing to do: gradlint
        does not report it where it cannot tell.

    Instead
        Make the leaf at the end (`torch.ones(2, device=device, requires_grad=True)`, or
        `.to(device).requires_grad_()`), keep a name for it, or call `retain_grad()` before the
        backward.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
    """

    code = "GRD206"
    name = "nonleaf-grad"
    effect = "silent"
    events = (NonleafGradRead,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch

x = 2 * torch.ones(2, 2, requires_grad=True)
x.pow(2).sum().backward()
slope = x.grad  # GRD206
""",
            shows="slope is None",
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
hidden = model(torch.randn(2, 4))
hidden.sum().backward()
saliency = hidden.grad  # GRD206
""",
            shows="saliency is None",
        ),
        Bad(
            """\
import torch

image = torch.rand(3, 8, 8, requires_grad=True).unsqueeze(0)
image.mean().backward()
print(image.grad)  # GRD206
""",
            shows="image.grad is None and not image.is_leaf",
        ),
    )
    good = (
        Good(
            """\
import torch

x = (2 * torch.ones(2, 2)).requires_grad_()
x.pow(2).sum().backward()
slope = x.grad
""",
            shows="slope is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Sequential(nn.Linear(4, 4), nn.Tanh())
hidden = model(torch.randn(2, 4))
hidden.retain_grad()
hidden.sum().backward()
saliency = hidden.grad
""",
            shows="saliency is not None",
        ),
        Good(
            """\
import torch

image = torch.rand(3, 8, 8, requires_grad=True)
image.unsqueeze(0).mean().backward()
print(image.grad)
""",
            shows="image.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the read of a `.grad` that is certainly None."""
        assert isinstance(event, NonleafGradRead)
        yield Report(
            event.node,
            "`.grad` of a tensor that is no leaf is None, with no more than a warning",
            hint="read it from the leaf, or call `retain_grad()` on this tensor before the backward",
            related=() if event.made is None else ((event.made, "the tensor is a result of this operation"),),
            repair=None if event.made is None else _repair(event.node, event.made),
        )


def _repair(read: cst.CSTNode, made: cst.CSTNode) -> Repair | None:
    """A leaf made in one go; an update that made the leaf a result; or else the gradient of a result is retained."""
    if ".grad" in code(made):
        return updated_in_place(made)
    return leaf_at_once(made, safe=False) or retained(read, made)
