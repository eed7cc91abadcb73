"""GRD305: the way from the parameters to the loss goes through numpy."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class NumpyOnLossPath(Rule):
    """The way from the parameters to the loss goes through numpy.

    What torch does
        A numpy array has no graph, so torch refuses `numpy()` on a tensor that requires grad. With
        `detach()` in front it works, and `torch.from_numpy` gives a tensor without a history: its
        backward raises a RuntimeError, "element 0 of tensors does not require grad and does not have a
        grad_fn", or what lies behind gets no gradient, without a word.

    Why it matters
        The error message of `numpy()` says to detach. That is right for a picture or a metric, and
        wrong for the loss.

    When it may be wrong
        Where the values are wanted without a gradient (a target, a weight, a mask), and something else
        trains the parameters in a way that gradlint does not see.

    Instead
        Compute with torch: nearly every numpy function has one of the same name there. What exists in
        numpy alone can be wrapped as a `torch.autograd.Function` with a backward of its own.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
        https://docs.pytorch.org/docs/stable/notes/extending.html
    """

    code = "GRD305"
    name = "numpy-on-loss-path"
    effect = "silent"
    events = (LostLeaf,)
    bad = (
        Bad(
            """\
import numpy as np
import torch
from torch import nn

model = nn.Linear(4, 1)
prediction = model(torch.randn(8, 4)).detach().numpy()  # GRD305
loss = torch.from_numpy(np.square(prediction)).mean()
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
code = torch.from_numpy(encoder(torch.randn(8, 4)).detach().numpy())  # GRD305
loss = head(code).pow(2).mean()
loss.backward()
optimizer.step()
""",
            shows="grad_is_none(encoder.weight) and head.weight.grad is not None",
        ),
        Bad(
            """\
import numpy as np
import torch
from torch import nn


def hinge(scores, target):
    margin = np.maximum(0, 1 - target.numpy() * scores.detach().numpy())  # GRD305
    return torch.tensor(margin.mean())


model = nn.Linear(4, 1)
loss = hinge(model(torch.randn(8, 4)), torch.ones(8, 1))
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn


class Quantise(nn.Module):
    def forward(self, x):
        levels = x.detach().cpu().numpy().round(1)  # GRD305
        return torch.from_numpy(levels)


model = nn.Sequential(nn.Linear(4, 3), Quantise(), nn.Linear(3, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x in torch.randn(3, 8, 4):
    optimizer.zero_grad()
    model(x).pow(2).mean().backward()
    optimizer.step()
""",
            shows="grad_is_none(model[0].weight) and model[2].weight.grad is not None",
        ),
    )
    good = (
        Good(
            """\
import numpy as np
import torch
from torch import nn

model = nn.Linear(4, 1)
prediction = model(torch.randn(8, 4))
prediction.square().mean().backward()
print(np.square(prediction.detach().numpy()).mean())
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import numpy as np
import torch
from torch import nn

model = nn.Linear(4, 1)
prediction = model(torch.randn(8, 4))
weight = torch.from_numpy(np.exp(-prediction.detach().numpy()))
(weight * prediction.pow(2)).mean().backward()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(2, 1)
target = torch.from_numpy(torch.ones(4, 1).numpy() * 2)
(model(torch.randn(4, 2)) - target).pow(2).mean().backward()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import numpy as np
import torch
from torch import nn

model = nn.Linear(2, 1)
loss = model(torch.randn(4, 2)).pow(2).mean()
loss.backward()
print(np.sqrt(loss.detach().numpy()))
""",
            shows="model.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """An array on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind != "numpy":
            return
        yield report(event, "the way to the loss goes through numpy here", "compute the loss with torch throughout")
