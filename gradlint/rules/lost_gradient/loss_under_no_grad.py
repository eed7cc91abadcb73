"""GRD307: a part of the loss that should be trained is computed with grad mode off."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class LossUnderNoGrad(Rule):
    """What should be trained is computed with grad mode off.

    What torch does
        Under `torch.no_grad()` and `torch.inference_mode()` nothing is recorded. A loss that was
        computed there raises in backward: "element 0 of tensors does not require grad and does not have
        a grad_fn". Where only a part was computed there, the layers of that part and those in front of
        it get no gradient, without a word. `torch.utils.checkpoint.checkpoint` runs its function so, unless
        told `use_reentrant=False`: its result requires grad only if an argument does, whatever the
        parameters of the function do, and torch warns once.

        `torch.utils.checkpoint.checkpoint` runs its function under `no_grad`, too, unless it is called with
        `use_reentrant=False`: where none of its arguments requires grad, nothing inside of it is trained.

    Why it matters
        A decorator or a block meant for the evaluation covers the training too.

    When it may be wrong
        Where the block freezes a part on purpose. Then its parameters need not stand in an optimizer;
        only those that do, or whose graph was recorded and then cut, are reported.

    Instead
        Compute the loss outside the block, and give `use_reentrant=False` to `checkpoint`. To keep a
        layer from being trained and train what is in front of it, switch off `requires_grad` of its
        parameters in place of the grad mode.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "GRD307"
    name = "loss-under-no-grad"
    effect = "silent"
    events = (LostLeaf,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
with torch.no_grad():  # GRD307
    loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.middle, self.last = nn.Linear(4, 4), nn.Linear(4, 4), nn.Linear(4, 1)

    def forward(self, x):
        x = torch.relu(self.first(x))
        with torch.no_grad():  # GRD307
            x = self.middle(x)
        return self.last(x)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.ones(2, 4)).sum().backward()
optimizer.step()
""",
            shows="grad_is_none(net.first.weight) and net.last.weight.grad is not None",
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)


@torch.no_grad()  # GRD307
def predict(x):
    return model(x)


loss = (predict(torch.randn(8, 4)) - 1).pow(2).mean()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

first, last = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
hidden = checkpoint(first, torch.randn(8, 4), use_reentrant=True)  # GRD307
last(hidden.relu()).pow(2).mean().backward()
optimizer.step()
""",
            shows="grad_is_none(first.weight) and last.weight.grad is not None",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()
with torch.no_grad():
    validation = model(torch.randn(8, 4)).pow(2).mean()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

backbone, head = nn.Linear(4, 3), nn.Linear(3, 1)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
with torch.no_grad():
    features = backbone(torch.randn(8, 4))
head(features).pow(2).mean().backward()
optimizer.step()
""",
            shows="head.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

first, last = nn.Linear(4, 4), nn.Linear(4, 1)
optimizer = torch.optim.SGD([*first.parameters(), *last.parameters()], lr=0.1)
hidden = checkpoint(first, torch.randn(8, 4), use_reentrant=False)
last(checkpoint(torch.relu, hidden, use_reentrant=True)).pow(2).mean().backward()
optimizer.step()
""",
            shows="first.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

enc, dec = nn.Linear(2, 2), nn.Linear(2, 1)
optimizer = torch.optim.SGD(dec.parameters(), lr=0.1)
with torch.no_grad():
    z = enc(torch.ones(3, 2))
dec(z).mean().backward()
optimizer.step()
""",
            shows="dec.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Grad mode is off on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind not in ("no_grad", "checkpoint"):
            return
        if event.kind == "checkpoint":
            hint = "pass `use_reentrant=False`: otherwise an argument must require grad"
            yield report(event, "no argument requires grad, so that the checkpoint records no graph", hint)
            return
        hint = "compute what is trained outside of it; to freeze a layer, switch off its parameters' `requires_grad`"
        yield report(event, "grad mode is off here while what should be trained is computed", hint)
