"""GRD302: `.data` takes a tensor out of the graph of the loss."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class DataInGraph(Rule):
    """`.data` takes a tensor out of the graph of the loss.

    What torch does
        `t.data` has the memory of `t` and no graph. A loss that is computed from it alone raises in
        backward: "element 0 of tensors does not require grad and does not have a grad_fn". Where other
        parts of the loss have a graph, what lies behind `.data` gets no gradient, without a word.

    Why it matters
        In programs of 2017 `.data` was the way from a `Variable` to its tensor. Today every tensor
        carries its graph, and `.data` throws it away.

    When it may be wrong
        Where the cut is wanted. Then `detach()` says so, and notices writes to the memory as well. Only
        parameters that an optimizer holds and no backward of the program reaches are reported, or a
        loss that has no graph at all.

    Instead
        Leave `.data` away; where a cut is wanted, write `.detach()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html
    """

    code = "GRD302"
    name = "data-in-graph"
    effect = "silent"
    events = (LostLeaf,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
output = model(torch.randn(8, 4))
loss = nn.functional.mse_loss(output.data, torch.randn(8, 1))  # GRD302
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

encoder, head = nn.Linear(4, 3), nn.Linear(3, 1)
optimizer = torch.optim.SGD([*encoder.parameters(), *head.parameters()], lr=0.1)
loss = head(encoder(torch.randn(8, 4)).data).pow(2).mean()  # GRD302
loss.backward()
optimizer.step()
""",
            shows="grad_is_none(encoder.weight) and head.weight.grad is not None",
        ),
        Bad(
            """\
import torch
from torch import nn

model, head = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*model.parameters(), *head.parameters()], lr=0.1)
features = model(torch.randn(8, 4)).data  # GRD302
head(features).mean().backward()
optimizer.step()
""",
            shows="grad_is_none(model.weight)",
        ),
        Bad(
            """\
import torch
from torch import nn


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn, self.out = nn.GRUCell(3, 4), nn.Linear(4, 1)

    def forward(self, sequence):
        state = torch.zeros(2, 4)
        for x in sequence:
            state = self.rnn(x, state)
            state = state.data  # GRD302
        return self.out(state)


model = Decoder()
optimizer = torch.optim.Adam(model.parameters())
loss = model(torch.randn(5, 2, 3)).pow(2).mean()
loss.backward()
optimizer.step()
""",
            shows="grad_is_none(model.rnn.weight_hh) and model.out.weight.grad is not None",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
output = model(torch.randn(8, 4))
loss = nn.functional.mse_loss(output, torch.randn(8, 1))
loss.backward()
print(output.data.mean())
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
x = torch.randn(8, 4)
target = model(x).data + 1
(model(x) - target).pow(2).mean().backward()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).mean()
loss.backward()
history = [loss.data]
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
scale = w.data.norm()
(w / scale).sum().backward()
""",
            shows="w.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """`.data` on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind != "data":
            return
        hint = "leave `.data` away; where a cut is wanted, `.detach()` says so"
        yield report(event, "`.data` leaves the graph of the loss here", hint, _repair(event))


def _repair(event: LostLeaf) -> Repair | None:
    read = event.node
    if not isinstance(read, cst.Attribute):
        return None
    return Repair("leave `.data` away", (Change(read, source(read.value)),), safe=False)
