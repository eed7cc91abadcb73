"""Writes to saved memory that the version counter does not see: through `.data`, and those that checksums show."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from tests.concrete.running import codes_at, watched

HEAD = """
import numpy as np
import torch
from torch import nn

x = torch.tensor([3.0, 2.0], requires_grad=True)
"""

SQUARE = """
class Square(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**2

    @staticmethod
    def backward(ctx, gradient):
        return 2 * ctx.saved_tensors[0] * gradient

"""

SEEN = {
    "a parameter": "loss = (x * x).sum()\nx.data.zero_()  # GRD105\nloss.backward()\n",
    "a view": "loss = (x * x).sum()\nx.data[0] = 5.0  # GRD105\nloss.backward()\n",
    "an augmented assignment": "loss = (x * x).sum()\nx.data -= 1.0  # GRD105\nloss.backward()\n",
    "a result": "y = x.exp()\ny.data.mul_(2)  # GRD105\ny.sum().backward()\n",
    "the second write": "loss = (x * x).sum()\nx.data.mul_(1)\nx.data.mul_(2)\nx.data.add_(0)\nloss.backward()\n",
}
"""Without checksums. Of several writes the first is named."""

SUMMED = {
    "an array of a tensor": "loss = (x * x).sum()\na = x.detach().numpy()\na[0] = 7.0  # GRD105\nloss.backward()\n",
    "an array under a tensor": "a = np.ones(2, dtype=np.float32)\nloss = (x * torch.from_numpy(a)).sum()\n"
    "a *= 2  # GRD105\nloss.backward()\n",
    "a function of numpy": "loss = (x * x).sum()\na = x.detach().numpy()\nnp.multiply(a, 2, out=a)  # GRD105\n"
    "loss.backward()\n",
    "another memory": "loss = (x * x).sum()\nx.data = torch.tensor([1.0, 1.0])  # GRD105\nloss.backward()\n",
    "nobody knows where": "def spoil(array):\n    array[:] = 0.0\n\nloss = (x * x).sum()\n"
    "spoil(x.detach().numpy())\nloss.backward()  # GRD105\n",
    "an order": "loss = (x * x).sum()\na = x.detach().numpy()\na.sort()  # GRD105\nloss.backward()\n",
    "a custom function": f"""{SQUARE}loss = Square.apply(x).sum()
a = x.detach().numpy()
a[0] = 7.0  # GRD105
loss.backward()
""",
}

RIGHT = {
    "after the backward": "(x * x).sum().backward()\nx.data.zero_()\nx.detach().numpy()[0] = 1.0\n",
    "before the forward": "x.data.zero_()\nx.detach().numpy()[0] = 1.0\n(x * x).sum().backward()\n",
    "the same values": "loss = (x * x).sum()\nx.data.clamp_(-9, 9)\nloss.backward()\n",
    "values that are restored": "loss = (x * x).sum()\nkept = x.data.clone()\nx.data.zero_()\nx.data.copy_(kept)\n"
    "loss.backward()\n",
    "nothing is saved": "loss = (x + 1).sum()\nx.data.zero_()\nloss.backward()\n",
    "the same values in another memory": "loss = (x * x).sum()\nx.data = x.data.clone()\nloss.backward()\n",
    "another part of the memory": "both = torch.ones(4, 2)\nleft, right = both[:, 0], both[:, 1]\n"
    "loss = (x.sum() * left).sum()\nright.data.zero_()\nloss.backward()\n",
    "before a custom function": f"""{SQUARE}other = (x * 1).sum()
x.data.zero_()
(Square.apply(x).sum() + other).backward()
""",
    "a copy": "loss = (x * x).sum()\nx.data.clone().zero_()\nloss.backward()\n",
    "two batches before a backward": "net = nn.Sequential(nn.Linear(2, 4), nn.BatchNorm1d(4), nn.ReLU())\n"
    "(net(torch.randn(8, 2)).sum() + net(torch.randn(8, 2)).sum()).backward()\n",
    "a recurrent network": "net = nn.LSTM(2, 4)\nnet(torch.randn(3, 1, 2))[0].sum().backward()\n",
    "a checkpoint": "from torch.utils.checkpoint import checkpoint\nnet = nn.Linear(2, 2)\n"
    "loss = checkpoint(net, x, use_reentrant=False).exp().sum()\nloss.backward()\n",
    "attention and embeddings": "net, table = nn.MultiheadAttention(4, 2), nn.Embedding(5, 4, max_norm=1.0)\n"
    "h = table(torch.tensor([[1], [2]])).exp()\nnet(h, h, h)[0].sum().backward()\n",
    "steps": "w = nn.Linear(2, 2)\noptimizer = torch.optim.Adam(w.parameters())\nfor _ in range(3):\n"
    "    optimizer.zero_grad()\n    w(torch.randn(3, 2)).pow(2).mean().backward()\n    optimizer.step()\n",
}


def _is_wrong(text: str) -> bool:
    """Return whether a program computes another gradient than without its marked line, as torch itself has it."""
    gradients = []
    for drops in (False, True):
        names: dict[str, object] = {}
        exec("\n".join(line for line in (HEAD + text).splitlines() if not (drops and _is_spoiling(line))), names)
        x = names["x"]
        assert isinstance(x, torch.Tensor) and x.grad is not None
        gradients.append(x.grad)
    return not torch.equal(*gradients)


def _is_spoiling(line: str) -> bool:
    return ("# GRD105" in line and "backward" not in line) or line.startswith(("spoil(", "x.data.mul_"))


@pytest.mark.parametrize("name", [*SEEN, *SUMMED])
def test_what_is_hidden_is_found(name: str, tmp_path: Path) -> None:
    """At the marked line; checksums find what is seen without them, too, and without them nothing is guessed."""
    text = SEEN.get(name) or SUMMED[name]
    assert _is_wrong(text)
    rows = [row for row, line in enumerate((HEAD + text).splitlines(), 1) if "# GRD105" in line]
    marked = {("GRD105", row) for row in rows} or {("GRD105", 8)}
    for checksums in (False, True):
        found = watched(HEAD + text, tmp_path, checksums=checksums)
        assert codes_at(found) == (marked if checksums or name in SEEN else set())
        assert found.complaints == [] and found.error is None


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_is_silent(name: str, tmp_path: Path) -> None:
    """With checksums and without; and the machine watches to the end."""
    for checksums in (False, True):
        found = watched(HEAD + RIGHT[name], tmp_path, checksums=checksums)
        assert codes_at(found) == set() and found.complaints == [] and found.error is None
