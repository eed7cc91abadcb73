"""Iterative LQR with Jacobians from torch.func and torch.autograd.functional, for a unicycle."""
from functools import partial
from typing import Callable, Tuple

import torch
from torch import Tensor
from torch.autograd.functional import hessian, jacobian
from torch.func import grad, jacrev, vmap

DT, T = 0.1, 15
GOAL = torch.tensor([1.0, 1.0, 0.0])


def dynamics(x: Tensor, u: Tensor) -> Tensor:
    return torch.stack([x[0] + DT * u[0] * x[2].cos(), x[1] + DT * u[0] * x[2].sin(), x[2] + DT * u[1]])


def stage_cost(x: Tensor, u: Tensor) -> Tensor:
    return 0.1 * (x - GOAL).square().sum() + 0.01 * u.square().sum()


def final_cost(x: Tensor) -> Tensor:
    return 10.0 * (x - GOAL).square().sum()


def rollout(x0: Tensor, us: Tensor) -> Tensor:
    xs = [x0]
    for u in us:
        xs.append(dynamics(xs[-1], u))
    return torch.stack(xs)


def total_cost(x0: Tensor, us: Tensor) -> Tensor:
    xs = rollout(x0, us)
    return vmap(stage_cost)(xs[:-1], us).sum() + final_cost(xs[-1])


def backward_pass(xs: Tensor, us: Tensor, reg: float = 1e-3) -> Tuple[Tensor, Tensor]:
    A, B = vmap(jacrev(dynamics, argnums=(0, 1)))(xs[:-1], us)
    lx = vmap(grad(stage_cost, argnums=0))(xs[:-1], us)
    lu = vmap(grad(stage_cost, argnums=1))(xs[:-1], us)
    V_x = jacobian(final_cost, xs[-1])
    V_xx = hessian(final_cost, xs[-1])
    k, K = torch.zeros(T, 2), torch.zeros(T, 2, 3)
    for t in reversed(range(T)):
        Q_x = lx[t] + A[t].T @ V_x
        Q_u = lu[t] + B[t].T @ V_x
        Q_xx = 0.2 * torch.eye(3) + A[t].T @ V_xx @ A[t]
        Q_ux = B[t].T @ V_xx @ A[t]
        Q_uu = 0.02 * torch.eye(2) + B[t].T @ V_xx @ B[t]
        Q_uu += reg * torch.eye(2)
        k[t] = -torch.linalg.solve(Q_uu, Q_u)
        K[t] = -torch.linalg.solve(Q_uu, Q_ux)
        V_x = Q_x + K[t].T @ Q_uu @ k[t] + K[t].T @ Q_u + Q_ux.T @ k[t]
        V_xx = Q_xx + K[t].T @ Q_uu @ K[t] + K[t].T @ Q_ux + Q_ux.T @ K[t]
    return k, K


def forward_pass(xs: Tensor, us: Tensor, k: Tensor, K: Tensor, alpha: float) -> Tensor:
    x, new = xs[0], torch.empty_like(us)
    for t in range(T):
        new[t] = us[t] + alpha * k[t] + K[t] @ (x - xs[t])
        x = dynamics(x, new[t])
    return new


def solve(x0: Tensor, iterations: int = 6) -> Tuple[Tensor, list]:
    us = torch.zeros(T, 2) + 0.1
    cost: Callable[[Tensor], Tensor] = partial(total_cost, x0)
    history = [cost(us).item()]
    for _ in range(iterations):
        xs = rollout(x0, us)
        k, K = backward_pass(xs, us)
        for alpha in (1.0, 0.5, 0.25, 0.1):
            candidate = forward_pass(xs, us, k, K, alpha)
            if cost(candidate) < history[-1]:
                us = candidate
                history.append(cost(us).item())
                break
    return us, history


def shooting(x0: Tensor, us: Tensor, steps: int = 10) -> float:
    """Polish by plain gradient descent through the rollout."""
    us = us.clone().requires_grad_()
    optimizer = torch.optim.SGD([us], lr=1e-3, momentum=0.5)
    for _ in range(steps):
        loss = total_cost(x0, us)
        us.grad = torch.autograd.grad(loss, us)[0]
        optimizer.step()
    return total_cost(x0, us).item()


us, history = solve(torch.zeros(3))
print([round(h, 3) for h in history], shooting(torch.zeros(3), us))
