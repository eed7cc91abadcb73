"""GRD614: an optimizer holds nothing but tensors that do not require grad."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import optimizers as fault
from gradlint.rules.base import Bad, Good, Report, Rule


class ConstantsInOptimizer(Rule):
    """An optimizer holds nothing but tensors that do not require grad.

    What torch does
        It takes them without a word. No backward ever fills their `.grad`, and a step leaves out what has none:
        nothing changes. Where something else in the program requires grad, such as a network that the image
        goes through, no call raises either.

    Why it matters
        Images, latent codes and adversarial noise are tensors of one's own, and lose or never get the flag:
        `clone()`, `torch.rand(...)` and what a file was read into do not require grad.

    When it may be wrong
        Where the program gives the tensors their `.grad` in a way that is not seen. Steps without any backward
        before them, as in tests of schedulers, are not reported.

    Instead
        `x.requires_grad_(True)`, or `torch.rand(..., requires_grad=True)`, before the optimizer is made.

    References
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
    """

    code = "GRD614"
    name = "constants-in-optimizer"
    effect = "silent"
    events = (fault.ConstantsInOptimizer,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

network = nn.Conv2d(3, 4, 3)
content = torch.rand(1, 3, 8, 8)
image = content.clone()
optimizer = torch.optim.Adam([image], lr=0.1)  # GRD614
for _ in range(3):
    optimizer.zero_grad()
    loss = (network(image) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
""",
            shows="torch.equal(image, content)",
        ),
        Bad(
            """\
import torch
from torch import nn

generator = nn.Linear(4, 8)
code, wanted = torch.randn(1, 4), torch.rand(8)
before = code.clone()
optimizer = torch.optim.SGD([{"params": [code]}], lr=0.1)  # GRD614
while (generator(code) - wanted).abs().max() > 0.01:
    loss = (generator(code) - wanted).abs().sum()
    loss.backward()
    optimizer.step()
    break
""",
            shows="torch.equal(code, before)",
        ),
        Bad(
            """\
import torch
from torch import nn


class Attack:
    def __init__(self, model, image):
        self.model, self.image = model, image
        self.noise = torch.zeros_like(image)
        self.optimizer = torch.optim.SGD([self.noise], lr=0.5)  # GRD614

    def run(self, steps):
        for _ in range(steps):
            self.optimizer.zero_grad()
            (-self.model(self.image + self.noise).sum()).backward()
            self.optimizer.step()
        return self.noise


noise = Attack(nn.Linear(4, 2), torch.rand(1, 4)).run(3)
""",
            shows="not noise.any()",
        ),
        Bad(
            """\
import torch
from torch import nn

field = nn.Linear(2, 1)
points = [torch.rand(5, 2) for _ in range(2)]
first = points[0].clone()
optimizer = torch.optim.RMSprop(points, lr=0.01)  # GRD614
energy = sum(field(one).pow(2).mean() for one in points)
energy.backward()
optimizer.step()
""",
            shows="torch.equal(points[0], first)",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

network = nn.Conv2d(3, 4, 3)
content = torch.rand(1, 3, 8, 8)
image = content.clone().requires_grad_(True)
optimizer = torch.optim.Adam([image], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = (network(image) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
""",
            shows="not torch.equal(image, content)",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(2, 1)
weights = torch.zeros(3)
optimizer = torch.optim.SGD([weights], lr=0.1)
model(torch.ones(1, 2)).sum().backward()
weights.grad = torch.ones(3)  # The gradient of weights is computed by hand.
optimizer.step()
""",
            shows="bool((weights != 0).all())",
        ),
        Good(
            """\
import torch
from torch import nn

backbone, head = nn.Linear(3, 3), nn.Linear(3, 1)
backbone.requires_grad_(False)
slow = torch.optim.SGD(backbone.parameters(), lr=0.01)
fast = torch.optim.SGD(head.parameters(), lr=0.1)
for epoch in range(4):
    if epoch == 2:
        backbone.requires_grad_(True)
    head(backbone(torch.ones(2, 3))).sum().backward()
    slow.step(), fast.step()
    slow.zero_grad(), fast.zero_grad()
""",
        ),
        Good(
            """\
import torch
from torch import nn

field = nn.Linear(2, 1)
points = [torch.rand(5, 2).requires_grad_() for _ in range(2)]
first = points[0].detach().clone()
optimizer = torch.optim.RMSprop(points, lr=0.01)
energy = sum(field(one).pow(2).mean() for one in points)
energy.backward()
optimizer.step()
""",
            shows="not torch.equal(points[0], first)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report where an optimizer is made whose steps find nothing that could have a gradient."""
        assert isinstance(event, fault.ConstantsInOptimizer)
        yield Report(
            event.node,
            "none of these tensors requires grad: no step of this optimizer ever changes anything",
            hint="switch the flag on with `requires_grad_()` before the optimizer is made",
            related=((event.step, "this step finds no gradient"),),
        )
