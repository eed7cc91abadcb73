"""GRD201: backward on a tensor with other than one element, without a gradient."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.refusal.backward import ComplexRoot, NonscalarRoot
from gradlint.rules.authoring.phrases import sizes, source
from gradlint.rules.base import Bad, Good, Reduced, Repair, Report, Rule

_RAISES = "grad can be implicitly created only for scalar outputs"


class BackwardNonscalar(Rule):
    """`backward` or `autograd.grad` starts at a tensor that has not exactly one element, without a gradient.

    What torch does
        It raises a RuntimeError: "grad can be implicitly created only for scalar outputs". One element
        is enough (`[1]` and `[1, 1]` need no gradient), an empty tensor is as wrong as a large one. So is
        a complex number, even one whose imaginary part is zero.

    Why it matters
        Torch computes vector-Jacobian products. For a loss the vector is the number one; for anything
        larger, you have to say how its elements are weighed. Mostly a reduction was forgotten, or
        `reduction="none"` was.

    When it may be wrong
        Where the line is never reached. A size that gradlint does not know is never reported.

    Instead
        Reduce the loss with `.mean()` or `.sum()`, or pass the weights of the elements:
        `y.backward(torch.ones_like(y))`. That one equals `y.sum().backward()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad.html
    """

    code = "GRD201"
    name = "backward-nonscalar"
    effect = "raises"
    events = (NonscalarRoot, ComplexRoot)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch

x = torch.ones(2, 2, requires_grad=True)
loss = (x * 3) ** 2
loss.backward()  # GRD201
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss(reduction="none")
loss = criterion(model(torch.randn(8, 4)), torch.randint(0, 3, (8,)))
loss.backward()  # GRD201
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

x = torch.linspace(0, 1, 5, requires_grad=True)
(slope,) = torch.autograd.grad(x**3, x)  # GRD201
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

signal = torch.ones(8, dtype=torch.cfloat, requires_grad=True)
spectrum = torch.fft.fft(signal)
energy = (spectrum * spectrum.conj()).sum()
energy.backward()  # GRD201
""",
            error="grad can be implicitly created only for real scalar outputs",
        ),
    )
    good = (
        Good(
            """\
import torch

x = torch.ones(2, 2, requires_grad=True)
loss = ((x * 3) ** 2).mean()
loss.backward()
""",
            shows="x.grad is not None",
        ),
        Good(
            """\
import torch

x = torch.linspace(0, 1, 5, requires_grad=True)
y = x**3
(slope,) = torch.autograd.grad(y, x, torch.ones_like(y))
""",
            shows="torch.allclose(slope, 3 * x**2)",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
model(torch.randn(1, 4)).backward()
""",
            shows="model.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report a root of several elements, or a complex one."""
        if isinstance(event, ComplexRoot):
            yield _complex(event)
            return
        assert isinstance(event, NonscalarRoot)
        shape = sizes(event.shape)
        what = f"a tensor of shape {shape}" if shape else "a tensor of several elements"
        call = "`backward`" if event.call == "backward" else "`autograd.grad`"
        keyword = "gradient" if event.call == "backward" else "grad_outputs"
        yield Report(
            event.node,
            f"{call} starts at {what} without `{keyword}`: torch raises, one element is needed",
            hint=f"reduce it with `.mean()` or `.sum()`, or pass `{keyword}`, a tensor of the same shape",
            related=() if event.root is None else ((event.root, "the tensor is computed here"),),
            repair=_repair(event.node) if event.call == "backward" else None,
        )


def _repair(node: cst.CSTNode) -> Repair | None:
    """The loss goes through `sum()`; with `scaler.scale(loss)` it is the loss that other statements read."""
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute):
        return None
    root = loss = node.func.value
    if isinstance(root, cst.Call) and len(root.args) == 1 and source(root.func).endswith(".scale"):
        loss = root.args[0].value
    name = loss.value if isinstance(loss, cst.Name) else None
    return Repair("call `.sum()` first", (Reduced(root, name, "sum"),), safe=False)


def _complex(event: ComplexRoot) -> Report:
    return Report(
        event.node,
        f"`{event.call}` starts at a complex number: torch raises, a loss is real",
        hint="take `.real` of it, or `.abs()`",
        related=() if event.root is None else ((event.root, "the number is computed here"),),
        repair=None,
    )
