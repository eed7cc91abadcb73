"""Large contrastive batches in little memory: embeddings first, their gradients next, then chunk by chunk again."""

from __future__ import annotations

from contextlib import nullcontext

import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, n_in: int, dim: int = 8) -> None:
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, 32), nn.GELU(), nn.Linear(32, dim))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.normalize(self.net(x), dim=-1)


class CLIPLoss(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.logit_scale = nn.Parameter(torch.tensor(2.0))

    def forward(self, a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        logits = self.logit_scale.exp() * a @ b.t()
        target = torch.arange(len(a), device=a.device)
        return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


class GradCache:
    def __init__(self, towers: list[nn.Module], loss_fn: nn.Module, chunk: int) -> None:
        self.towers, self.loss_fn, self.chunk = towers, loss_fn, chunk

    @torch.no_grad()
    def _embed(self, tower: nn.Module, x: torch.Tensor) -> torch.Tensor:
        return torch.cat([tower(part) for part in x.split(self.chunk)])

    def _build_cache(self, embeddings: list[torch.Tensor]) -> tuple[list[torch.Tensor], float]:
        """The loss sees the embeddings as leaves; its backward ends there on purpose."""
        leaves = [e.detach().requires_grad_() for e in embeddings]
        loss = self.loss_fn(*leaves)
        loss.backward()
        return [leaf.grad for leaf in leaves], loss.item()

    def _push(self, tower: nn.Module, x: torch.Tensor, gradient: torch.Tensor) -> None:
        for part, g in zip(x.split(self.chunk), gradient.split(self.chunk)):
            surrogate = (tower(part) * g).sum()
            surrogate.backward()

    def __call__(self, *inputs: torch.Tensor) -> float:
        embeddings = [self._embed(tower, x) for tower, x in zip(self.towers, inputs)]
        cache, value = self._build_cache(embeddings)
        for tower, x, gradient in zip(self.towers, inputs, cache):
            self._push(tower, x, gradient)
        return value


def pairs(n: int) -> tuple[torch.Tensor, torch.Tensor]:
    z = torch.randn(n, 4)
    return torch.cat([z, 0.1 * torch.randn(n, 2)], 1), torch.cat([z.flip(1), 0.1 * torch.randn(n, 1)], 1)


def max_difference(models: list[nn.Module], reference: list[torch.Tensor]) -> float:
    current = [p.grad for m in models for p in m.parameters()]
    return max((a - b).abs().max().item() for a, b in zip(current, reference))


def main() -> None:
    torch.manual_seed(0)
    image, text, loss_fn = Tower(6), Tower(5), CLIPLoss()
    models = [image, text, loss_fn]
    parameters = [p for m in models for p in m.parameters()]
    optimizer = torch.optim.AdamW(parameters, lr=2e-3)
    cached = GradCache([image, text], loss_fn, chunk=8)

    a, b = pairs(32)
    loss_fn(image(a), text(b)).backward()
    reference = [p.grad.clone() for p in parameters]
    optimizer.zero_grad()
    cached(a, b)
    assert max_difference(models, reference) < 1e-5
    for step in range(6):
        optimizer.zero_grad()
        value = cached(*pairs(32))
        optimizer.step()
        with torch.no_grad():
            loss_fn.logit_scale.clamp_(0, 4.6)
        if step % 2 == 0:
            print(step, value, nullcontext().__class__.__name__)


if __name__ == "__main__":
    main()
