"""What a program does wrongly with gradients, samplers, schedulers and modules; and what looks like it and is right."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.concrete.running import codes_at, watched

HEAD = "import copy\nimport torch\nfrom torch import nn\n\n"
LOOP = """
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1)
{before}
for epoch in range(3):
    optimizer.zero_grad()
    model(torch.randn(4, 3)).pow(2).mean().backward()
    {step}
"""
EPOCHS = """
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset
sampler = DistributedSampler(TensorDataset(torch.arange(8.0)), num_replicas=2, rank=0{options})
loader = DataLoader(sampler.dataset, batch_size=4, sampler=sampler)
w = torch.ones(1, requires_grad=True)
for epoch in range({epochs}):
    {before}
    for (batch,) in loader:  # GRD507
        {body}
"""
BUILDS = """
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.kept = nn.Linear(4, 4), {{}}

    def forward(self, x):
        x = self.body(x)
        {head}

net = Net()
for _ in range(3):
    net(torch.ones(1, 4))
"""
TARGET = """
policy = nn.Linear(4, 2)
target = {made}
target.load_state_dict({loaded})
policy(torch.ones(1, 4)).sum().backward()
"""
TRAIN = "(w * batch).sum().backward()"

FUNCTION = """
class Double(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        {forward}

    @staticmethod
    def backward(ctx, gradient):
        {backward}

w = torch.ones(3, requires_grad=True)
for _ in range(2):
    h = w * 1
    (Double.apply(h){also}).sum().backward()
"""
TWICE = "return gradient * 2"

RIGHT = {
    "an input is marked dirty after the write": FUNCTION.format(
        forward="x.mul_(2)\n        ctx.mark_dirty(x)\n        return x", backward=TWICE, also=" + 1"
    ),
    "a copy is written": FUNCTION.format(
        forward="x = x.clone()\n        x.mul_(2)\n        return x", backward=TWICE, also=" + h"
    ),
    "what is kept requires no grad": FUNCTION.format(
        forward="ctx.scale = x.abs().max()\n        return x * 2", backward=TWICE, also=""
    ),
    "what is kept is saved": FUNCTION.format(
        forward="ctx.save_for_backward(x)\n        return x * 2", backward=TWICE, also=""
    ),
    "a copy of the gradient is written": FUNCTION.format(
        forward="return x * 2",
        backward="gradient = gradient.clone()\n        gradient *= 2\n        return gradient",
        also="",
    ),
    "the memory is filled through an array": "x = torch.ones(4, requires_grad=True)\ngrad = torch.empty(4)\n"
    "grad.numpy()[:] = 1.0\n(x * 2).backward(grad)\n",
    "the memory is filled": "x = torch.ones(4, requires_grad=True)\n(x * 2).backward(torch.empty(4).fill_(2))\n",
    "the gradient is compared with None": "x = 2 * torch.ones(2, requires_grad=True)\nx.sum().backward()\n"
    "grad = x.grad\nif grad is None:\n    grad = torch.ones(2)\n",
    "the gradient is retained": "x = 2 * torch.ones(2, requires_grad=True)\nx.retain_grad()\nx.sum().backward()\n"
    "grad = x.grad * 2\n",
    "the line reads gradients of leaves, too": "x = torch.ones(2, requires_grad=True)\ny = 2 * x\n"
    "y.sum().backward()\ngrads = [one.grad for one in (x, y)]\n",
    "a schedule is drawn first": LOOP.format(
        before="rates = [scheduler.step() for _ in range(3)]", step="optimizer.step()"
    ),
    "the scheduler steps last": LOOP.format(before="", step="optimizer.step(); scheduler.step()"),
    "a scheduler is loaded": LOOP.format(
        before="other = torch.optim.lr_scheduler.StepLR(optimizer, 1)\nother.load_state_dict(scheduler.state_dict())",
        step="optimizer.step(); other.step()",
    ),
    "the epoch is set": EPOCHS.format(options="", epochs=4, before="sampler.set_epoch(epoch)", body=TRAIN),
    "the order is meant": EPOCHS.format(options=", shuffle=False", epochs=4, before="", body=TRAIN),
    "nothing is trained": EPOCHS.format(options="", epochs=4, before="", body="(w * batch).sum()"),
    "a trial comes first": EPOCHS.format(options="", epochs=2, before="", body=TRAIN),
    "a layer is kept": BUILDS.format(
        head="key = x.size(1)\n        if key not in self.kept:\n            self.kept[key] = nn.Linear(4, 2)\n"
        "        return self.kept[key](x)"
    ),
    "the weights are set": BUILDS.format(
        head="layer = nn.Linear(4, 2)\n        nn.init.constant_(layer.weight, 0.5)\n        return layer(x)"
    ),
    "the weights are copied": BUILDS.format(
        head="layer = nn.Linear(4, 4)\n        layer.weight = self.body.weight\n        return layer(x)"
    ),
    "a norm begins with ones": BUILDS.format(head="return nn.LayerNorm(4)(x)"),
    "the target is a copy": TARGET.format(made="copy.deepcopy(policy)", loaded="policy.state_dict()"),
    "a network loads itself": TARGET.format(made="nn.Linear(4, 2)", loaded="target.state_dict()"),
    "a class has a flag of its own": """
class Frozen(nn.Linear):
    def forward(self, x):
        return super().forward(x) if self.requires_grad else super().forward(x).detach()

layer, head = Frozen(4, 4), nn.Linear(4, 2)
layer.requires_grad = False
head(layer(torch.ones(1, 4))).sum().backward()
""",
    "the flag is that of a tensor": """
layer = nn.Linear(4, 4)
layer.bias.requires_grad = False
layer(torch.ones(1, 4)).sum().backward()
""",
}

WRONG = {
    "an input is written": FUNCTION.format(
        forward="x.mul_(2)  # GRD625\n        return x.clone()", backward=TWICE, also=" + h"
    ),
    "an input is kept": FUNCTION.format(
        forward="ctx.x = x  # GRD622\n        return x * 2", backward="return gradient * 2 + 0 * ctx.x", also=""
    ),
    "a result is kept": FUNCTION.format(
        forward="ctx.y = y = x * 2  # GRD622\n        return y", backward=TWICE, also=""
    ),
    "the gradient is written": FUNCTION.format(
        forward="return x * 2", backward="gradient *= 2  # GRD628\n        return gradient", also=" * h"
    ),
    "the memory is given to grad": "x = torch.ones(4, requires_grad=True)\n"
    "torch.autograd.grad(x * 2, x, grad_outputs=torch.ones(4).new_empty(4))  # GRD203\n",
    "the gradient of a result": "x = 2 * torch.ones(2, requires_grad=True)\nx.sum().backward()\n"
    "for _ in range(2):\n    print(x.grad)  # GRD206\n",
    "the scheduler steps first": LOOP.format(before="", step="scheduler.step()  # GRD506\n    optimizer.step()"),
    "the epoch is not set": EPOCHS.format(options="", epochs=4, before="", body=TRAIN),
    "a layer is made for each call": BUILDS.format(head="layer = nn.Linear(4, 2)  # GRD607\n        return layer(x)"),
    "the target is the network": TARGET.format(made="policy  # GRD609", loaded="policy.state_dict()"),
    "the flag is set in a function": """
def freeze(model):
    for name, one in model.named_children():
        one.requires_grad = False  # GRD610

net = nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 2))
freeze(net)
net(torch.ones(1, 4)).sum().backward()
""",
}


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_silent(name: str, tmp_path: Path) -> None:
    """And the machine watches to the end."""
    found = watched(HEAD + RIGHT[name], tmp_path)
    assert codes_at(found) == set() and found.complaints == [] and found.error is None


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_found(name: str, tmp_path: Path) -> None:
    """At the line that is marked."""
    text = HEAD + WRONG[name]
    found = watched(text, tmp_path)
    rows = [row for row, line in enumerate(text.splitlines(), 1) if "# GRD" in line]
    code = text.partition("# ")[2][:6]
    assert codes_at(found) == {(code, row) for row in rows} and found.complaints == [] and found.error is None
