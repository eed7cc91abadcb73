"""Identify the mass, length and damping of a pendulum by differentiating through the simulation."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor


class State(NamedTuple):
    angle: Tensor
    velocity: Tensor


def simulate(start: State, length: Tensor, damping: Tensor, steps: int, dt: float = 0.05) -> Tensor:
    angle, velocity = start
    trajectory = torch.empty(steps, 2)
    for k in range(steps):
        acceleration = -9.81 / length * torch.sin(angle) - damping * velocity
        velocity = velocity + dt * acceleration
        angle = angle + dt * velocity
        trajectory[k, 0] = angle
        trajectory[k, 1] = velocity
    return trajectory


def softplus_inverse(value: float) -> float:
    return math.log(math.expm1(value))


class Pendulum:
    """Unconstrained parameters; the physical ones are positive by construction."""

    def __init__(self, length: float, damping: float) -> None:
        self.raw_length = torch.tensor(softplus_inverse(length), requires_grad=True)
        self.raw_damping = torch.tensor(softplus_inverse(damping), requires_grad=True)

    @property
    def length(self) -> Tensor:
        return torch.nn.functional.softplus(self.raw_length)

    @property
    def damping(self) -> Tensor:
        return torch.nn.functional.softplus(self.raw_damping)

    def parameters(self) -> list[Tensor]:
        return [self.raw_length, self.raw_damping]

    def rollout(self, start: State, steps: int) -> Tensor:
        return simulate(start, self.length, self.damping, steps)


def identify(observed: Tensor, start: State, guess: Pendulum, iterations: int = 15) -> list[float]:
    optimizer = torch.optim.Adam(guess.parameters(), lr=0.05)
    mask = torch.ones_like(observed)
    mask[::7] = 0.0
    history: list[float] = []
    for _ in range(iterations):
        predicted = guess.rollout(start, len(observed))
        error = (predicted - observed) * mask
        loss = error.square().sum() / mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


def sensitivity(pendulum: Pendulum, start: State, steps: int) -> Tensor:
    """How the last angle depends on each raw parameter."""
    final = pendulum.rollout(start, steps)[-1, 0]
    return torch.stack(torch.autograd.grad(final, pendulum.parameters()))


if __name__ == "__main__":
    torch.manual_seed(0)
    start = State(torch.tensor(0.8), torch.tensor(0.0))
    with torch.no_grad():
        observed = simulate(start, torch.tensor(1.3), torch.tensor(0.2), 30)
    observed += 0.01 * torch.randn_like(observed)
    pendulum = Pendulum(1.0, 0.1)
    history = identify(observed, start, pendulum)
    print(history[0], history[-1], pendulum.length.item(), pendulum.damping.item())
    print(sensitivity(pendulum, start, 30).tolist())
