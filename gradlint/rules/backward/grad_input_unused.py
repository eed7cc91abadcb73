"""GRD207: `autograd.grad` is asked for the gradient of a tensor that the output does not depend on."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import backward as refusal
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import Bad, Good, Report, Rule


class GradInputUnused(Rule):
    """`autograd.grad` is asked for the gradient of a tensor that the output does not depend on.

    What torch does
        For an input that requires grad and that no way of the graph leads to, it raises a RuntimeError:
        "The differentiated Tensor at index 1 appears to not have been used in the graph. Set
        allow_unused=True if this is the desired behavior." For an input that does not require grad,
        "One of the differentiated Tensors does not require grad".

    Why it matters
        Mostly the input is another tensor than the one that was used: a view of it, a copy
        (`x.to(device)`, `x.detach()`), or data for which `requires_grad_()` came too late.

    When it may be wrong
        Where the line is never reached.

    Instead
        Ask for the tensor that went into the computation, call `requires_grad_()` on it before, or pass
        `allow_unused=True` to get None for it.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD207"
    name = "grad-input-unused"
    effect = "raises"
    events = (refusal.GradInputUnused, refusal.GradInputWithoutGraph)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch

a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
torch.autograd.grad((a * 2).sum(), [a, b])  # GRD207
""",
            error="appears to not have been used in the graph",
        ),
        Bad(
            """\
import torch
from torch import nn

critic = nn.Linear(4, 1)
x = torch.randn(8, 4)
torch.autograd.grad(critic(x).sum(), x)  # GRD207
""",
            error="One of the differentiated Tensors does not require grad",
        ),
        Bad(
            """\
import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.left, self.right = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        return self.left(self.body(x))


net = TwoHeads()
loss = net(torch.randn(4, 3)).pow(2).mean()
slopes = torch.autograd.grad(loss, list(net.parameters()))  # GRD207
""",
            error="appears to not have been used in the graph",
        ),
        Bad(
            """\
import torch

x = torch.linspace(0, 1, 4, requires_grad=True)
u = 3 * x
(first,) = torch.autograd.grad(u.sum(), x, create_graph=True)
shift = torch.zeros(4, requires_grad=True)
(second,) = torch.autograd.grad((first + shift).sum(), x)  # GRD207
""",
            error="appears to not have been used in the graph",
        ),
    )
    good = (
        Good(
            """\
import torch

a = torch.ones(2, requires_grad=True)
b = torch.ones(2, requires_grad=True)
torch.autograd.grad((a * 2).sum(), [a, b], allow_unused=True)
""",
        ),
        Good(
            """\
import torch
from torch import nn

critic = nn.Linear(4, 1)
x = torch.randn(8, 4, requires_grad=True)
(slope,) = torch.autograd.grad(critic(x).sum(), x)
""",
            shows="slope.shape == x.shape",
        ),
        Good(
            """\
import torch
from torch import nn


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.left, self.right = nn.Linear(3, 3), nn.Linear(3, 1), nn.Linear(3, 1)

    def forward(self, x):
        return self.left(self.body(x))


net = TwoHeads()
loss = net(torch.randn(4, 3)).pow(2).mean()
slopes = torch.autograd.grad(loss, [*net.body.parameters(), *net.left.parameters()])
""",
            shows="net.right.weight.grad is None",
        ),
        Good(
            """\
import torch

x = torch.linspace(0, 1, 4, requires_grad=True)
(first,) = torch.autograd.grad((x**2).sum(), x, create_graph=True)
(second,) = torch.autograd.grad(first.sum(), x)
""",
            shows="second.tolist() == [2.0, 2.0, 2.0, 2.0]",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the call, in either of the two ways in which an input is none of the output's."""
        assert isinstance(event, (refusal.GradInputUnused, refusal.GradInputWithoutGraph))
        unused = isinstance(event, refusal.GradInputUnused)
        reason, hint = _UNUSED if unused else _WITHOUT_GRAPH
        yield Report(
            event.node,
            f"`autograd.grad` is asked for the gradient of a tensor that {reason}: torch raises here",
            hint=hint,
            related=() if event.made is None else ((event.made, "the input was made here"),),
            repair=with_argument(event.node, "allow_unused=True", safe=False) if unused else None,
        )


_UNUSED = (
    "the output does not depend on",
    "pass the tensor that went into the computation, or `allow_unused=True`",
)
_WITHOUT_GRAPH = ("does not require grad", "call `requires_grad_()` on it before it is used")
