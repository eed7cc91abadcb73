"""GRD203: the gradient given to `backward` is memory that nobody has written."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import backward as fault
from gradlint.rules.authoring.repairs import code, ones_as_gradient
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule


class GradientUninitialised(Rule):
    """The gradient given to `backward` is memory that nobody has written.

    What torch does
        `torch.FloatTensor(1)` is a tensor of one element, not of the number 1, and like `torch.empty`
        it takes memory as it is. Each gradient is multiplied by what happens to stand there: often
        zero, sometimes 1e-38 or 1e30.

    Why it matters
        Gradients are wrong by a factor that changes from run to run, and nothing says so.

    When it may be wrong
        Where the tensor is filled by code that gradlint does not see.

    Instead
        A loss of one element needs no argument. Else pass `torch.ones_like(loss)`, or the weights that
        are meant; `torch.tensor([1.0])` holds the number 1.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/generated/torch.empty.html
    """

    code = "GRD203"
    name = "gradient-uninitialised"
    effect = "silent"
    events = (fault.GradientUninitialised,)
    fix = "safe or unsafe"
    bad = (
        Bad(
            """\
import torch

w = torch.ones(1, requires_grad=True)
out = w * 3
out.backward(torch.FloatTensor(1), retain_graph=True)  # GRD203
""",
            shows="w.grad.item() != 3",
        ),
        Bad(
            """\
import torch

x = torch.ones(4, requires_grad=True)
y = x * 2
y.backward(gradient=torch.empty(4))  # GRD203
""",
            shows="(x.grad != 2).any()",
        ),
        Bad(
            """\
import torch

w = torch.ones(3, requires_grad=True)
one = torch.FloatTensor(3)
minus_one = -one
score = w * 2
score.backward(minus_one)  # GRD203
""",
            shows="not torch.equal(w.grad, torch.full((3,), -2.0))",
        ),
        Bad(
            """\
import torch

x = torch.randn(5, requires_grad=True)
y = x**2
x.grad = torch.autograd.grad(y, x, grad_outputs=torch.empty_like(y))[0]  # GRD203
""",
            shows="not torch.equal(x.grad, 2 * x.detach())",
        ),
    )
    good = (
        Good(
            """\
import torch

x = torch.ones(4, requires_grad=True)
y = x * 2
y.backward(torch.ones_like(y))
""",
            shows="x.grad.tolist() == [2, 2, 2, 2]",
        ),
        Good(
            """\
import torch

x = torch.ones(1, requires_grad=True)
weight = torch.empty(1).fill_(0.5)
(x * 2).backward(weight)
(x * 2).backward(torch.FloatTensor([1]))
""",
            shows="x.grad.item() == 3",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
one = torch.ones(3)
(w * 2).backward(-one)
""",
            shows="torch.equal(w.grad, torch.full((3,), -2.0))",
        ),
        Good(
            """\
import torch

x = torch.randn(5, requires_grad=True)
y = x**2
weights = torch.empty_like(y)
weights.copy_(torch.ones(5))
(slope,) = torch.autograd.grad(y, x, grad_outputs=weights)
""",
            shows="torch.equal(slope, 2 * x.detach())",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the backward that is given such a gradient."""
        assert isinstance(event, fault.GradientUninitialised)
        yield Report(
            event.node,
            "the gradient argument is uninitialised memory: all gradients are multiplied by what stands there",
            hint="pass `torch.ones_like` of the tensor, or nothing for a loss of one element",
            related=((event.taken, "its memory is taken here"),),
            repair=_repair(event),
        )


def _repair(event: fault.GradientUninitialised) -> Repair | None:
    """Ones in the call; where the gradient was made of the memory, as `mone = one * -1`, ones where it is taken."""
    if not event.scaled:
        return ones_as_gradient(event.node, safe=True)
    made = event.taken
    taking = _TAKING.fullmatch(code(made.func)) if isinstance(made, cst.Call) else None
    if taking is None or not isinstance(made, cst.Call):
        return None
    ones = f"{taking[1]}.ones"
    return Repair(f"take memory that is filled: `{ones}`", (Change(made.func, ones),), safe=False)


_TAKING = re.compile(r"(\w+)\.(?:FloatTensor|Tensor|empty)")
"""What takes memory, under any name of torch, and has the arguments of `torch.ones`."""
