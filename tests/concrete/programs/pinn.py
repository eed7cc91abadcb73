"""A physics-informed network for the heat equation, with second derivatives and a learned diffusivity."""

import math

import torch
from torch import nn

torch.manual_seed(7)
TRUE_KAPPA = 0.1


def exact(x, t):
    return torch.exp(-TRUE_KAPPA * math.pi**2 * t) * torch.sin(math.pi * x)


class Sine(nn.Module):
    def __init__(self):
        super().__init__()
        self.frequency = nn.Parameter(torch.tensor(1.0))

    def forward(self, x):
        return torch.sin(self.frequency * x)


class Field(nn.Module):
    def __init__(self, width=24):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, width), Sine(), nn.Linear(width, width), Sine(), nn.Linear(width, 1))
        self.log_kappa = nn.Parameter(torch.tensor(-1.0))

    def forward(self, x, t):
        return self.net(torch.cat([x, t], dim=1))


def derivative(y, x):
    return torch.autograd.grad(y, x, torch.ones_like(y), create_graph=True)[0]


def residual(field, x, t):
    u = field(x, t)
    u_t = derivative(u, t)
    u_x = derivative(u, x)
    u_xx = derivative(u_x, x)
    return u_t - field.log_kappa.exp() * u_xx


def collocation(n):
    x = torch.rand(n, 1, requires_grad=True)
    t = torch.rand(n, 1, requires_grad=True)
    return x, t


def boundary_loss(field, n):
    t = torch.rand(n, 1)
    left, right = field(torch.zeros(n, 1), t), field(torch.ones(n, 1), t)
    return left.pow(2).mean() + right.pow(2).mean()


def data_loss(field, x, t, u):
    return nn.functional.mse_loss(field(x, t), u)


def evaluate(field):
    with torch.no_grad():
        x, t = torch.rand(200, 1), torch.rand(200, 1)
        return (field(x, t) - exact(x, t)).abs().mean().item()


field = Field()
x_data, t_data = torch.rand(60, 1), torch.rand(60, 1)
u_data = exact(x_data, t_data) + 0.01 * torch.randn(60, 1)
optimizer = torch.optim.Adam(
    [{"params": field.net.parameters(), "lr": 5e-3}, {"params": [field.log_kappa], "lr": 2e-2}]
)
decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.995)
weights = {"physics": 0.1, "boundary": 1.0, "data": 5.0}
history = {name: [] for name in weights}
for iteration in range(16):
    optimizer.zero_grad()
    x, t = collocation(16)
    parts = {
        "physics": residual(field, x, t).pow(2).mean(),
        "boundary": boundary_loss(field, 16),
        "data": data_loss(field, x_data, t_data, u_data),
    }
    loss = sum(weights[name] * part for name, part in parts.items())
    loss.backward()
    optimizer.step()
    decay.step()
    for name, part in parts.items():
        history[name].append(part.item())
    if iteration % 8 == 7:
        print(iteration, f"error {evaluate(field):.3f} kappa {field.log_kappa.exp().item():.3f}")
