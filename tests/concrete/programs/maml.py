import torch
import torch.nn.functional as F
from torch import nn
from torch.func import functional_call, grad, vmap

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)


def loss_of(weights, x, y):
    return F.mse_loss(functional_call(model, weights, (x,)), y)


def adapted(weights, x, y):
    slopes = grad(loss_of)(weights, x, y)
    return {name: one - 0.1 * slopes[name] for name, one in weights.items()}


def outer(weights, x1, y1, x2, y2):
    return loss_of(adapted(weights, x1, y1), x2, y2)


for step in range(6):
    phase = torch.rand(4, 1, 1) * 3
    x1, x2 = torch.randn(4, 10, 1), torch.randn(4, 10, 1)
    y1, y2 = torch.sin(x1 + phase), torch.sin(x2 + phase)
    weights = dict(model.named_parameters())
    losses = vmap(outer, in_dims=(None, 0, 0, 0, 0))(weights, x1, y1, x2, y2)
    loss = losses.mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# The same by `autograd.grad`, through one step.
for step in range(6):
    total = 0.0
    optimizer.zero_grad()
    for task in range(2):
        x, y = torch.randn(10, 1), torch.randn(10, 1)
        weights = dict(model.named_parameters())
        inner = loss_of(weights, x, y)
        slopes = torch.autograd.grad(inner, list(weights.values()), create_graph=True)
        fast = {name: one - 0.1 * slope for (name, one), slope in zip(weights.items(), slopes)}
        loss = loss_of(fast, torch.randn(10, 1), torch.randn(10, 1)) / 2
        loss.backward()
        total += loss.item()
    optimizer.step()
print(total)
