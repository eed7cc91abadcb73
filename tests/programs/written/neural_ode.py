"""A neural ODE with a hand-written Runge-Kutta solver and the adjoint method as a custom function."""
from typing import Callable

import torch
from torch import Tensor, nn


def rk4_step(f: Callable[[Tensor, Tensor], Tensor], t: Tensor, dt: Tensor, y: Tensor) -> Tensor:
    k1 = f(t, y)
    k2 = f(t + dt / 2, y + dt * k1 / 2)
    k3 = f(t + dt / 2, y + dt * k2 / 2)
    k4 = f(t + dt, y + dt * k3)
    return y + dt * (k1 + 2 * k2 + 2 * k3 + k4) / 6


def odeint(f, y0, ts):
    ys = [y0]
    for t0, t1 in zip(ts[:-1], ts[1:]):
        ys.append(rk4_step(f, t0, t1 - t0, ys[-1]))
    return torch.stack(ys)


class ODEFunc(nn.Module):
    def __init__(self, hidden: int = 16) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, hidden), nn.Tanh(), nn.Linear(hidden, 2))
        for m in self.net.modules():
            if isinstance(m, nn.Linear):
                nn.init.normal_(m.weight, mean=0, std=0.1)
                nn.init.constant_(m.bias, val=0)

    def forward(self, t: Tensor, y: Tensor) -> Tensor:
        return self.net(y ** 3)


class ODEAdjoint(torch.autograd.Function):
    @staticmethod
    def forward(ctx, y0, t0, t1, func, *params):
        ctx.func = func
        with torch.no_grad():
            y1 = rk4_step(func, t0, t1 - t0, y0)
        ctx.save_for_backward(y0, t0, t1, *params)
        return y1

    @staticmethod
    def backward(ctx, grad_y1):
        y0, t0, t1, *params = ctx.saved_tensors
        with torch.enable_grad():
            y0 = y0.detach().requires_grad_(True)
            y1 = rk4_step(ctx.func, t0, t1 - t0, y0)
            grads = torch.autograd.grad(y1, [y0, *params], grad_y1, allow_unused=True)
        return (grads[0], None, None, None, *grads[1:])


def adjoint_odeint(func: ODEFunc, y0: Tensor, ts: Tensor) -> Tensor:
    ys = [y0]
    params = tuple(func.parameters())
    for t0, t1 in zip(ts[:-1], ts[1:]):
        ys.append(ODEAdjoint.apply(ys[-1], t0, t1, func, *params))
    return torch.stack(ys)


true_A = torch.tensor([[-0.1, 2.0], [-2.0, -0.1]])
ts = torch.linspace(0.0, 1.0, 9)
with torch.no_grad():
    truth = odeint(lambda t, y: (y ** 3) @ true_A, torch.tensor([[2.0, 0.0]]), ts)

torch.manual_seed(0)
func = ODEFunc()
optimizer = torch.optim.RMSprop(func.parameters(), lr=1e-3)
running = None
for itr in range(1, 7):
    solver = adjoint_odeint if itr % 2 else odeint
    optimizer.zero_grad()
    prediction = solver(func, truth[0], ts)
    loss = torch.mean(torch.abs(prediction - truth))
    loss.backward()
    optimizer.step()
    running = loss.item() if running is None else 0.9 * running + 0.1 * loss.item()
    print("Iter {:04d} | Total Loss {:.6f}".format(itr, running))
