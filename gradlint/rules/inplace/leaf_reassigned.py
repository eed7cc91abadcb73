"""GRD111: a leaf's name is bound to a result, whose `.grad` is None from then on."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal.backward import NoneGradientUsed
from gradlint.rules.authoring.leaves import updated_in_place
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "unsupported operand type.*NoneType|NoneType' object"


class LeafReassigned(Rule):
    """A leaf's name is bound to a result, whose `.grad` is None from then on.

    What torch does
        `w = w - lr * w.grad` computes a new tensor, which is no leaf: no gradient is accumulated into
        it. Its `.grad` is None, with a warning, and the next turn of the loop raises a TypeError
        ("unsupported operand type(s) for *: 'float' and 'NoneType'") or, at `w.grad.zero_()`, an
        AttributeError.

    Why it matters
        It is the first thing written to avoid "a leaf Variable that requires grad is being used in an
        in-place operation". The old leaf is untouched, and the graph of all turns hangs together.

    When it may be wrong
        Where the tensor is given a gradient by something that gradlint does not see.

    Instead
        Update the leaf itself: `with torch.no_grad(): w -= lr * w.grad`, then `w.grad = None`. Or begin
        a fresh leaf: `w = (w - lr * w.grad).detach().requires_grad_()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.grad.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
    """

    code = "GRD111"
    name = "leaf-reassigned"
    effect = "raises"
    events = (NoneGradientUsed,)
    fix = "unsafe"
    torch_says = r"unsupported operand type.*NoneType|NoneType' object|not NoneType|got .*NoneType"
    bad = (
        Bad(
            """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w = w - 0.1 * w.grad  # GRD111, GRD206
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

w = torch.ones(3, requires_grad=True)
(w * w).sum().backward()
w = (w * 0.9).clamp(min=0)
step = 0.1 * w.grad  # GRD111, GRD206
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
""",
            shows="w.is_leaf and w.any()",
        ),
        Good(
            """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
for _ in range(3):
    loss = ((x @ w - y) ** 2).mean()
    loss.backward()
    w = (w - 0.1 * w.grad).detach().requires_grad_()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report what is computed with a `.grad` that is None."""
        assert isinstance(event, NoneGradientUsed)
        yield Report(
            event.node,
            "this uses a `.grad` that is None here: no backward has filled it, and Python raises",
            hint="update the leaf under `torch.no_grad()`, or make a new leaf: `.detach().requires_grad_()`",
            related=() if event.made is None else ((event.made, "the tensor whose .grad is None comes from here"),),
            repair=None if event.made is None else updated_in_place(event.made),
        )
