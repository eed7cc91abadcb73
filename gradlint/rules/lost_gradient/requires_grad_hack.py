from __future__ import annotations

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.base import EventRule, Report


class RequiresGradHack(EventRule[LostLeaf]):
    """`requires_grad` is set on a loss that has lost its graph.

    What torch does
        `loss.requires_grad = True`, `loss.requires_grad_()`, `Variable(loss, requires_grad=True)` and
        `torch.tensor(loss.item(), requires_grad=True)` make the loss a leaf. Its backward then runs,
        fills only the gradient of the loss itself, and stops: no parameter gets a gradient.

    Why it matters
        It hides the error "element 0 of tensors does not require grad", which was correct. The
        optimizer steps, and the network does not change.

    When it may be wrong
        If the gradient at the cut is needed (a split model, an attack on the input). A leaf whose
        `.grad` is read, or that belongs to an optimizer, is not reported.

    Instead
        Remove `requires_grad=True` and fix the line that cuts the graph: remove `.detach()` or `.item()`, and use torch
        functions instead of numpy's, such as `torch.clamp` instead of `np.clip`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "GRD306"
    name = "requires-grad-hack"
    effect = "silent"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.randn(8, 4)).detach().pow(2).mean()
loss.requires_grad = True  # GRD306
loss.backward()
optimizer.step()
"""
    bad_shows = "grad_is_none(model.weight)"
    good = """\
import torch
from torch import nn

model = nn.Linear(2, 1)
x = torch.randn(4, 2)
x.requires_grad_()
model(x).sum().backward()
"""
    good_shows = "x.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        """Report a leaf made from a value without a graph, whose gradient is never used."""
        if event.kind != "hack":
            return None
        lost = f"this {'parameter' if event.parameter else 'leaf'} gets no gradient"
        cut = None if event.cut is event.node else event.cut
        return Report(
            event.node,
            "`requires_grad` makes a leaf of a value that has lost its graph: backward runs, and no "
            "parameter gets a gradient",
            hint="remove `requires_grad`, and fix the line that cuts the graph: drop `.detach()`, or use "
            "torch functions instead of numpy's",
            related=((cut, "the graph is cut here"), (event.leaf, lost), (event.backward, "the backward")),
        )
