"""GRD308: an optimizer holds parameters that no loss of the program depends on."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import lost_gradient as fault
from gradlint.rules.base import Bad, Good, Report, Rule


class ParameterNeverReached(Rule):
    """An optimizer holds parameters that no loss of the program depends on.

    What torch does
        Nothing: a parameter whose `.grad` is None is left out by `optimizer.step()`. Only
        `DistributedDataParallel` complains, at the second turn: "Expected to have finished reduction in
        the prior iteration".

    Why it matters
        The layer stands in the constructor and was forgotten in `forward`, or `forward` uses another
        one twice. The network trains without it, and nobody notices.

    When it may be wrong
        Where the layer is used in another file, or kept so that old checkpoints can be loaded. Only
        files in which the backward and every use of the network are seen are judged.

    Instead
        Use the layer, or take it away.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.optim.Optimizer.step.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html
    """

    code = "GRD308"
    name = "parameter-never-reached"
    effect = "fragile"
    events = (fault.ParameterNeverReached,)
    bad = (
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 8)  # GRD308
        self.head = nn.Linear(8, 1)

    def forward(self, x):
        return self.head(torch.relu(self.first(x)))


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
net(torch.randn(2, 4)).pow(2).mean().backward()
optimizer.step()
""",
            shows="grad_is_none(net.second.weight) and net.head.weight.grad is not None",
        ),
        Bad(
            """\
import torch

w = torch.zeros(3, requires_grad=True)
b = torch.zeros(1, requires_grad=True)  # GRD308
optimizer = torch.optim.SGD([w, b], lr=0.1)
x, y = torch.randn(8, 3), torch.randn(8)
for _ in range(3):
    optimizer.zero_grad()
    (x @ w - y).pow(2).mean().backward()
    optimizer.step()
""",
            shows="grad_is_none(b) and w.grad is not None",
        ),
        Bad(
            """\
import torch
from torch import nn


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.mix = nn.LayerNorm(4), nn.Linear(4, 4)
        self.norm2 = nn.LayerNorm(4)  # GRD308

    def forward(self, x):
        x = x + self.mix(self.norm1(x))
        return x + self.mix(self.norm1(x)).relu()


net = Block()
optimizer = torch.optim.AdamW(net.parameters())
for x in torch.randn(3, 2, 4):
    optimizer.zero_grad()
    net(x).pow(2).mean().backward()
    optimizer.step()
""",
            shows="grad_is_none(net.norm2.weight) and net.norm1.weight.grad is not None",
        ),
        Bad(
            """\
import torch
from torch import nn

nets = nn.ModuleDict({"encoder": nn.Linear(4, 2), "decoder": nn.Linear(2, 4)})
nets["critic"] = nn.Linear(4, 1)  # GRD308
optimizer = torch.optim.Adam(nets.parameters())
for x in torch.randn(3, 8, 4):
    optimizer.zero_grad()
    (nets["decoder"](nets["encoder"](x)) - x).pow(2).mean().backward()
    optimizer.step()
""",
            shows="grad_is_none(nets['critic'].weight)",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.value, self.policy = nn.Linear(4, 8), nn.Linear(8, 1), nn.Linear(8, 2)

    def forward(self, x):
        h = torch.relu(self.body(x))
        return self.policy(h), self.value(h)


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
policy, value = net(torch.randn(2, 4))
value.pow(2).mean().backward(retain_graph=True)
policy.pow(2).mean().backward()
optimizer.step()
""",
            shows="net.policy.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

backbone, head = nn.Linear(4, 8), nn.Linear(8, 1)
backbone.requires_grad_(False)
optimizer = torch.optim.SGD([*backbone.parameters(), *head.parameters()], lr=0.1)
head(backbone(torch.randn(2, 4))).pow(2).mean().backward()
optimizer.step()
""",
            shows="head.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model, extra = nn.Linear(2, 1), nn.Linear(2, 1)
optimizer = torch.optim.SGD([*model.parameters(), *extra.parameters()], lr=0.1)
for x in torch.randn(5, 4, 2):
    optimizer.zero_grad()
    (model(x) * extra(x)).pow(2).mean().backward()
    optimizer.step()
""",
            shows="extra.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn


class Adversary(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.head = nn.Linear(4, 4), nn.Linear(4, 1)

    def features(self, x):
        return self.body(x).relu()

    def forward(self, x):
        return self.head(self.features(x))


net = Adversary()
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for step, x in enumerate(torch.randn(4, 2, 4)):
    optimizer.zero_grad()
    loss = net(x).mean() if step % 2 else net.features(x).mean()
    loss.backward()
    optimizer.step()
""",
            shows="net.body.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report at what makes the parameters."""
        assert isinstance(event, fault.ParameterNeverReached)
        yield Report(
            event.node,
            "an optimizer holds what is made here, and no loss of the program depends on it: it is never trained",
            hint="use it in `forward`, or take it away",
        )
