import math

import numpy as np
import torch
import torch.nn as nn


class PINN(nn.Module):
    """u(x, t) for the viscous Burgers equation."""

    def __init__(self, layers=(2, 16, 16, 1)):
        super().__init__()
        self.linears = nn.ModuleList(
            [nn.Linear(layers[i], layers[i + 1]) for i in range(len(layers) - 1)])
        for lin in self.linears:
            nn.init.xavier_normal_(lin.weight.data)
            nn.init.zeros_(lin.bias.data)
        self.nu = 0.01 / math.pi

    def forward(self, x, t):
        a = torch.cat([x, t], dim=1)
        for lin in self.linears[:-1]:
            a = torch.tanh(lin(a))
        return self.linears[-1](a)

    def residual(self, x, t):
        x = x.clone().requires_grad_(True)
        t = t.clone().requires_grad_(True)
        u = self.forward(x, t)
        ones = torch.ones_like(u)
        u_x = torch.autograd.grad(u, x, ones, create_graph=True)[0]
        u_t = torch.autograd.grad(u, t, ones, create_graph=True)[0]
        u_xx = torch.autograd.grad(u_x, x, ones, create_graph=True)[0]
        return u_t + u * u_x - self.nu * u_xx


np.random.seed(1234)
torch.manual_seed(1234)
n_u, n_f = 20, 50
x_u = torch.tensor(np.random.uniform(-1, 1, (n_u, 1)), dtype=torch.float32)
t_u = torch.zeros(n_u, 1)
u_u = -torch.sin(math.pi * x_u)
x_f = torch.tensor(np.random.uniform(-1, 1, (n_f, 1)), dtype=torch.float32)
t_f = torch.rand(n_f, 1)

model = PINN()
loss_function = nn.MSELoss(reduction='mean')
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, history_size=10)
history = []


def closure():
    optimizer.zero_grad()
    loss_u = loss_function(model(x_u, t_u), u_u)
    f = model.residual(x_f, t_f)
    loss_f = loss_function(f, torch.zeros_like(f))
    loss = loss_u + loss_f
    loss.backward()
    history.append([loss_u.item(), loss_f.item()])
    return loss


for step in range(3):
    optimizer.step(closure)
    print('step', step, 'loss', np.array(history)[-1].sum())

with torch.no_grad():
    grid = torch.linspace(-1, 1, 20).view(-1, 1)
    u_pred = model(grid, torch.full_like(grid, 0.5)).numpy()
error = np.linalg.norm(u_pred) / math.sqrt(len(u_pred))
print('rms', error)
