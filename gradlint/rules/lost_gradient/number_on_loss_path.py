"""GRD304: a tensor becomes a Python number on its way to the loss."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report, without_call
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class NumberOnLossPath(Rule):
    """A tensor becomes a Python number on its way to the loss.

    What torch does
        `item()`, `tolist()`, `float()`, `int()` and the functions of `math` give Python numbers, and
        numbers have no graph. A loss of numbers alone has no `backward` at all, or raises when it was
        made a tensor again: "element 0 of tensors does not require grad and does not have a grad_fn".
        Where a number is one of several parts, what it was computed from gets no gradient, without a
        word.

    Why it matters
        `item()` is right for printing and for running sums, and is copied from there into the loss.

    When it may be wrong
        Where a number is wanted: a weight or a temperature taken from a value. What is trained by some
        other backward of the program is not reported.

    Instead
        Keep the tensor in the loss, and call `item()` only for what is printed or stored. `torch.sqrt`,
        `torch.exp`, `torch.log` stand for the functions of `math`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html
    """

    code = "GRD304"
    name = "number-on-loss-path"
    effect = "silent"
    events = (LostLeaf,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
total = 0.0
for _ in range(3):
    total += model(torch.randn(8, 4)).pow(2).mean().item()  # GRD304
total.backward()  # raises
""",
            error="'float' object has no attribute 'backward'",
        ),
        Bad(
            """\
import math

import torch

log_scale = torch.zeros((), requires_grad=True)
shift = torch.zeros((), requires_grad=True)
x = torch.randn(16)
loss = ((x - shift) / math.exp(log_scale)).pow(2).mean()  # GRD304
loss.backward()
""",
            shows="grad_is_none(log_scale) and shift.grad is not None",
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
losses = [float(model(torch.randn(8, 4)).pow(2).mean()) for _ in range(3)]  # GRD304
loss = torch.tensor(losses).mean()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

m, n = nn.Linear(2, 2), nn.Linear(2, 1)
x = torch.ones(1, 2)
total = m(x).pow(2).sum()
total = total + n(x).pow(2).sum().item()  # GRD304
total.backward()
""",
            shows="grad_is_none(n.weight)",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
running = 0.0
for _ in range(3):
    loss = model(torch.randn(8, 4)).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    running += loss.item()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch

log_alpha = torch.zeros((), requires_grad=True)
policy = torch.zeros(3, requires_grad=True)
entropy = -(policy.softmax(0) * policy.log_softmax(0)).sum()
alpha = log_alpha.exp().item()
(-alpha * entropy).backward()
(log_alpha.exp() * (entropy.detach() - 1)).backward()
""",
            shows="log_alpha.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

m, n = nn.Linear(2, 2), nn.Linear(2, 1)
x = torch.ones(1, 2)
total = m(x).pow(2).sum() + n(x).pow(2).sum()
total.backward()
print(float(total), total.item())
""",
            shows="n.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

m = nn.Linear(2, 2)
loss = m(torch.ones(1, 2)).pow(2).sum()
(loss / max(loss.item(), 1.0)).backward()
""",
            shows="m.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A number on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind != "item":
            return
        repair = _repair(event) if event.op == "item" else None
        hint = "keep the tensor in the loss; a number is for printing"
        yield report(event, f"`{event.op}` makes a Python number of a part of the loss", hint, repair)


def _repair(event: LostLeaf) -> Repair | None:
    """The tensor in place of the number, and of the tensor that is made of it again."""
    call, copied = event.node, event.copied
    plain = without_call(event, "keep the tensor")
    if plain is None or copied is None or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return plain
    tensor = source(call.func.value)
    if copied.args[0].value is call:
        return Repair("keep the tensor", (Change(copied, tensor),), safe=False)
    changes = (Change(copied.func, "torch.stack"), Change(call, f"{tensor}.squeeze()"))
    return Repair("use `torch.stack`", changes, False, ("torch",))
