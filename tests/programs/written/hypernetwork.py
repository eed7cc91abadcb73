"""A hypernetwork writes the weights of a small regressor for every task; functional_call runs it."""
from __future__ import annotations

import torch
import torch.nn as nn
from torch.func import functional_call


class Target(nn.Module):
    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.hidden = nn.Linear(1, width)
        self.out = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.out(torch.tanh(self.hidden(x)))


class HyperNetwork(nn.Module):
    def __init__(self, template: nn.Module, n_tasks: int, code: int = 4) -> None:
        super().__init__()
        self.shapes = {name: p.shape for name, p in template.named_parameters()}
        self.codes = nn.Embedding(n_tasks, code)
        self.trunk = nn.Sequential(nn.Linear(code, 32), nn.ReLU())
        self.heads = nn.ModuleDict(
            {name.replace(".", "_"): nn.Linear(32, shape.numel()) for name, shape in self.shapes.items()}
        )
        for head in self.heads.values():
            with torch.no_grad():
                head.weight.mul_(0.1)
                head.bias.normal_(0.0, 0.3)

    def forward(self, task: torch.Tensor) -> dict[str, torch.Tensor]:
        h = self.trunk(self.codes(task))
        return {name: self.heads[name.replace(".", "_")](h).view(shape) for name, shape in self.shapes.items()}


def task_batch(task: int, n: int = 20) -> tuple[torch.Tensor, torch.Tensor]:
    x = torch.rand(n, 1) * 4 - 2
    return x, torch.sin(x * (1 + task)) / (1 + task)


def train(hyper: HyperNetwork, target: Target, n_tasks: int, steps: int = 12) -> list[float]:
    optimizer = torch.optim.Adam(hyper.parameters(), lr=3e-3)
    history = []
    for step in range(steps):
        losses = []
        for task in range(n_tasks):
            weights = hyper(torch.tensor(task))
            x, y = task_batch(task)
            prediction = functional_call(target, weights, (x,))
            losses.append(nn.functional.mse_loss(prediction, y))
        loss = torch.stack(losses).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
    return history


@torch.no_grad()
def materialize(hyper: HyperNetwork, target: Target, task: int) -> Target:
    """Write the generated weights into the template for deployment."""
    for name, value in hyper(torch.tensor(task)).items():
        target.get_parameter(name).copy_(value)
    return target


def main() -> None:
    torch.manual_seed(0)
    template = Target()
    hyper = HyperNetwork(template, n_tasks=3)
    history = train(hyper, template, n_tasks=3)
    deployed = materialize(hyper, template, task=1)
    x, y = task_batch(1)
    print(history[0], history[-1], nn.functional.mse_loss(deployed(x), y).item())


if __name__ == "__main__":
    main()
