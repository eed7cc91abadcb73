import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 40)[:, None]
y = torch.sin(3 * x)
model = nn.Sequential(nn.Linear(1, 16), nn.Tanh(), nn.Linear(16, 1))
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=4, line_search_fn="strong_wolfe")
losses = []


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for step in range(5):
    loss = optimizer.step(closure)
    losses.append(float(loss))

# A physics-informed residual: derivatives of the network by its input.
points = torch.linspace(0, 1, 20)[:, None].requires_grad_()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(6):
    u = model(points)
    (du,) = torch.autograd.grad(u, points, torch.ones_like(u), create_graph=True)
    (ddu,) = torch.autograd.grad(du, points, torch.ones_like(du), create_graph=True)
    loss = (ddu + u).pow(2).mean() + (model(torch.zeros(1, 1)) - 1).pow(2).mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

# By hand, without an optimizer.
w = torch.zeros(1, requires_grad=True)
for step in range(6):
    loss = (w * x - y).pow(2).mean()
    loss.backward()
    with torch.no_grad():
        w -= 0.1 * w.grad
    w.grad = None
print(losses[-1], loss.item())
