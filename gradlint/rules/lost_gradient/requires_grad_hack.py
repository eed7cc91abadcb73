"""GRD306: a loss that was cut off from its graph is made to require grad."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.base import Bad, Good, Report, Rule


class RequiresGradHack(Rule):
    """A loss that was cut off from its graph is made to require grad.

    What torch does
        `loss.requires_grad = True`, `loss.requires_grad_()`, `Variable(loss, requires_grad=True)` and
        `torch.tensor(loss.item(), requires_grad=True)` make the loss a leaf. Its backward then runs,
        fills the gradient of the loss itself, and goes no further: no parameter gets one.

    Why it matters
        It silences "element 0 of tensors does not require grad", which told the truth. The optimizer
        steps, and the network stays as it is.

    When it may be wrong
        Where the gradient at the cut is what is wanted (a split model, an attack on the input). A leaf
        whose `.grad` is read, or that an optimizer holds, is not reported.

    Instead
        Take the flag away, and mend the place where the graph is cut.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
    """

    code = "GRD306"
    name = "requires-grad-hack"
    effect = "silent"
    events = (LostLeaf,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss = model(torch.randn(8, 4)).detach().pow(2).mean()
loss.requires_grad = True  # GRD306
loss.backward()
optimizer.step()
""",
            shows="grad_is_none(model.weight)",
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
losses = [model(torch.randn(8, 4)).pow(2).mean().item() for _ in range(3)]
loss = torch.tensor(losses, requires_grad=True).mean()  # GRD306
loss.backward()
""",
            shows="grad_is_none(model.weight)",
        ),
        Bad(
            """\
import torch
from torch import nn
from torch.autograd import Variable

model = nn.Linear(4, 1)
loss = Variable(model(torch.randn(8, 4)).pow(2).mean(), requires_grad=True)  # GRD306
loss.backward()
""",
            shows="grad_is_none(model.weight)",
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(2, 1)
losses = [model(torch.ones(1, 2)).sum().item() for _ in range(3)]
loss = torch.tensor(losses, requires_grad=True).mean()  # GRD306
loss.backward()
""",
            shows="grad_is_none(model.weight)",
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(2, 1)
a, b = model(torch.ones(1, 2)).sum(), model(torch.zeros(1, 2)).sum()
loss = torch.tensor([a, b]).sum()
loss.requires_grad_()  # GRD306
loss.backward()
""",
            shows="grad_is_none(model.weight)",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

front, back = nn.Linear(4, 3), nn.Linear(3, 1)
sent = front(torch.randn(8, 4))
received = sent.detach().requires_grad_()
back(received).pow(2).mean().backward()
sent.backward(received.grad)
""",
            shows="front.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(3, 4)
code = model(torch.randn(2, 3)).detach().requires_grad_()
optimizer = torch.optim.SGD([code], lr=0.1)
code.pow(2).sum().backward()
optimizer.step()
""",
            shows="code.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(2, 1)
x = torch.randn(4, 2)
x.requires_grad_()
model(x).sum().backward()
""",
            shows="x.grad is not None",
        ),
        Good(
            """\
import torch

image = torch.rand(3, 4)
delta = torch.zeros_like(image, requires_grad=True)
(image + delta).pow(2).sum().backward()
""",
            shows="delta.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A leaf made of a value that was cut off, of which nobody wants the gradient."""
        assert isinstance(event, LostLeaf)
        if event.kind != "hack":
            return
        related = [(event.leaf, "this parameter is not trained" if event.parameter else "this leaf is lost")]
        if event.cut is not None and event.cut is not event.node:
            related.insert(0, (event.cut, "the graph is cut here"))
        yield Report(
            event.node,
            "the flag makes a leaf of a value that is cut off from its graph: backward runs and trains nothing",
            hint="take the flag away, and mend the place where the graph is cut",
            related=(*related, (event.backward, "the backward")),
        )
