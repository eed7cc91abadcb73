"""A network that grows while it learns: modules and parameter groups are added during training."""
from __future__ import annotations

import math

import torch
import torch.nn as nn


class GrowingNet(nn.Module):
    def __init__(self, n_in: int, n_out: int) -> None:
        super().__init__()
        self.n_in, self.n_out = n_in, n_out
        self.base = nn.Linear(n_in, n_out)
        self.count = 0

    def grow(self, width: int = 6) -> nn.Module:
        block = nn.Sequential(nn.Linear(self.n_in, width), nn.Tanh(), nn.Linear(width, self.n_out))
        with torch.no_grad():
            # starts as the zero function
            block[-1].weight.zero_()
            block[-1].bias.zero_()
        setattr(self, f"block{self.count}", block)
        self.count += 1
        return block

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = self.base(x)
        for i in range(self.count):
            out = out + getattr(self, f"block{i}")(x)
        return out


class Plateau:
    """Says when the loss has not improved for a while."""

    def __init__(self, patience: int, threshold: float = 1e-3) -> None:
        self.patience, self.threshold = patience, threshold
        self.best, self.bad = math.inf, 0

    def __call__(self, value: float) -> bool:
        if value < self.best - self.threshold:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        if self.bad > self.patience:
            self.bad = 0
            return True
        return False


def freeze(module: nn.Module) -> None:
    for p in module.parameters():
        p.requires_grad_(False)
        p.grad = None


def widen(layer: nn.Linear, extra: int) -> nn.Linear:
    """Net2Net: copy rows into a wider layer; the old parameters are read only."""
    wide = nn.Linear(layer.in_features, layer.out_features + extra)
    with torch.no_grad():
        wide.weight[: layer.out_features].copy_(layer.weight)
        wide.bias[: layer.out_features] = layer.bias
        pick = torch.randint(0, layer.out_features, (extra,))
        wide.weight[layer.out_features :] = layer.weight[pick] + 0.01 * torch.randn(extra, layer.in_features)
    return wide


def main() -> None:
    torch.manual_seed(0)
    x = torch.rand(80, 2) * 4 - 2
    y = torch.stack([(x[:, 0] * 2).sin() * x[:, 1], x.prod(1)], dim=1)
    net = GrowingNet(2, 2)
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-2)
    plateau = Plateau(patience=2)
    for epoch in range(30):
        loss = (net(x) - y).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if plateau(loss.item()) and net.count < 3:
            if net.count == 1:
                freeze(net.base)
            block = net.grow()
            optimizer.add_param_group({"params": block.parameters(), "lr": 1e-2})
            print("epoch", epoch, "grown to", sum(p.numel() for p in net.parameters()))
        elif epoch == 10:
            optimizer.add_param_group({"params": net.grow(8).parameters()})
    wide = widen(net.base, 2)
    print("loss", loss.item(), "wide", tuple(wide.weight.shape), wide.weight.requires_grad)


if __name__ == "__main__":
    main()
