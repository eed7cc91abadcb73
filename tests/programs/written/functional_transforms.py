"""torch.func throughout: per-sample gradients, vmapped MAML, differentially private SGD by hand."""
from __future__ import annotations

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, grad_and_value, vmap
from torch.nn.utils import parametrizations, parametrize


class Symmetric(nn.Module):
    def forward(self, X: torch.Tensor) -> torch.Tensor:
        return X.triu() + X.triu(1).transpose(-1, -2)


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inp = nn.Linear(4, 10)
        self.mid = nn.Linear(10, 10)
        self.out = nn.Linear(10, 2)
        parametrize.register_parametrization(self.mid, "weight", Symmetric())
        parametrizations.weight_norm(self.out, name="weight")

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.tanh(self.mid(torch.tanh(self.inp(x)))))


def loss_of(params: dict, net: nn.Module, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    logits = functional_call(net, params, (x.unsqueeze(0),))
    return F.cross_entropy(logits, y.unsqueeze(0))


def dp_sgd(net: nn.Module, x: torch.Tensor, y: torch.Tensor, clip: float = 1.0, sigma: float = 0.3, lr: float = 0.1):
    params = {k: v.detach() for k, v in net.named_parameters()}
    per_sample, losses = vmap(grad_and_value(loss_of), (None, None, 0, 0))(params, net, x, y)
    norms = torch.stack([g.flatten(1).norm(dim=1) for g in per_sample.values()]).norm(dim=0)
    factors = (clip / (norms + 1e-6)).clamp(max=1.0)
    with torch.no_grad():
        for name, p in net.named_parameters():
            g = torch.einsum("n,n...->...", factors, per_sample[name])
            g += sigma * clip * torch.randn_like(g)
            p -= lr * g / len(x)
    return losses.mean().item()


def regression(params: dict, x: torch.Tensor) -> torch.Tensor:
    h = torch.tanh(x @ params["w1"] + params["b1"])
    return h @ params["w2"]


def maml_loss(params: dict, task: torch.Tensor) -> torch.Tensor:
    def inner(p: dict, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return F.mse_loss(regression(p, x), y)

    x = torch.linspace(-2, 2, 10).unsqueeze(1)
    y = torch.sin(x + task)
    g = grad(inner)(params, x[::2], y[::2])
    adapted = {k: params[k] - 0.1 * g[k] for k in params}
    return inner(adapted, x[1::2], y[1::2])


def train_maml(steps: int = 8) -> list[float]:
    params = {
        "w1": torch.randn(1, 16, requires_grad=True),
        "b1": torch.zeros(16, requires_grad=True),
        "w2": (torch.randn(16, 1) * 0.3).requires_grad_(),
    }
    optimizer = torch.optim.Adam(params.values(), lr=1e-2)
    history = []
    for _ in range(steps):
        tasks = torch.rand(6) * 3
        loss = vmap(maml_loss, in_dims=(None, 0))(params, tasks).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


torch.manual_seed(0)
net = Net()
x = torch.randn(40, 4)
y = (x.sum(1) > 0).long()
private = [dp_sgd(net, x[i : i + 20], y[i : i + 20]) for i in (0, 20) * 3]
assert torch.equal(net.mid.weight, net.mid.weight.T)
history = train_maml()
print(private[0], private[-1], history[0], history[-1])
