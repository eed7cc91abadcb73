"""GRD202: the gradient given to `backward` or `autograd.grad` has another shape than its tensor."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal.backward import GradientIsNumber, GradientShapeMismatch
from gradlint.rules.authoring.phrases import sizes
from gradlint.rules.authoring.repairs import ones_as_gradient
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "Mismatch in shape"


class GradientShape(Rule):
    """The gradient given to `backward` or `autograd.grad` has another shape than the tensor it starts at.

    What torch does
        It raises a RuntimeError: "Mismatch in shape: grad_output[0] has a shape of torch.Size([2]) and
        output[0] has a shape of torch.Size([3])." Nothing is broadcast: `torch.ones(1)` for a tensor
        without dimensions is refused as well. Another floating type is let pass. For a root that is not
        the first of several, torch 2.13 stumbles over its own message and raises another.

    Why it matters
        The gradient argument holds one weight for each element of the output, so it has the output's
        shape.

    When it may be wrong
        Where the line is never reached. Sizes that gradlint does not know are never reported.

    Instead
        Pass `torch.ones_like(y)` or weights of the same shape. A loss of one element needs no argument.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD202"
    name = "gradient-shape"
    effect = "raises"
    events = (GradientShapeMismatch, GradientIsNumber)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch

x = torch.ones(3, requires_grad=True)
y = x * 2
y.backward(torch.ones(1))  # GRD202
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

x = torch.ones(3, requires_grad=True)
loss = (x * 2).sum()
loss.backward(torch.tensor([1.0]))  # GRD202
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

w, x = torch.ones(4, 1, requires_grad=True), torch.ones(8, 4)
torch.autograd.grad(x @ w, w, grad_outputs=torch.ones(8))  # GRD202
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch

x = torch.ones(3, requires_grad=True)
y = x * 2
y.backward(torch.ones_like(y))
""",
            shows="x.grad.tolist() == [2, 2, 2]",
        ),
        Good(
            """\
import torch

x = torch.ones(3, requires_grad=True)
loss = (x * 2).sum()
loss.backward(torch.tensor(1.0))
""",
        ),
        Good(
            """\
import torch

w, x = torch.ones(4, 1, requires_grad=True), torch.ones(8, 4)
torch.autograd.grad(x @ w, w, grad_outputs=torch.ones(8, 1))
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report a gradient of another shape, or one that is no tensor."""
        assert isinstance(event, (GradientShapeMismatch, GradientIsNumber))
        keyword = "gradient" if event.call == "backward" else "grad_outputs"
        if isinstance(event, GradientIsNumber):
            yield Report(
                event.node,
                f"`{keyword}` is a number, and has to be a tensor: torch raises here",
                hint="pass a tensor of the shape of its root; a loss of one element needs none",
            )
            return
        shape = sizes(event.shape)
        tensor = f"its tensor of shape {shape}" if shape else "its tensor"
        yield Report(
            event.node,
            f"`{keyword}` has another shape than {tensor}, and is not broadcast: torch raises here",
            hint="pass `torch.ones_like(...)` of the tensor itself, or weights of its shape",
            related=() if event.root is None else ((event.root, "backward starts at this tensor"),),
            repair=ones_as_gradient(event.node, safe=False),
        )
