"""Mixed precision with a gradient scaler, accumulation and clipping."""
import contextlib
import math
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass
class TrainConfig:
    lr: float = 1e-3
    steps: int = 6
    accumulate: int = 2
    grad_clip: float = 1.0
    amp: bool = True
    warmup: int = 2


class ResidualMLP(nn.Module):
    def __init__(self, dim: int = 12, depth: int = 2):
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(dim, dim) for _ in range(depth))
        self.norms = nn.ModuleList(nn.LayerNorm(dim) for _ in range(depth))
        self.out = nn.Linear(dim, 1)
        self.scale = nn.Parameter(torch.ones(depth))

    def forward(self, x):
        for i, (layer, norm) in enumerate(zip(self.layers, self.norms)):
            x = x + self.scale[i] * torch.relu(layer(norm(x)))
        return self.out(x).squeeze(-1)


def lr_at(step, cfg):
    if step < cfg.warmup:
        return cfg.lr * (step + 1) / cfg.warmup
    progress = (step - cfg.warmup) / max(1, cfg.steps - cfg.warmup)
    return 0.5 * cfg.lr * (1 + math.cos(math.pi * progress))


def batches(n, batch=16, dim=12):
    g = torch.Generator().manual_seed(4)
    for _ in range(n):
        x = torch.randn(batch, dim, generator=g)
        yield x, x.sin().sum(1)


def train(cfg):
    device_type = "cuda" if torch.cuda.is_available() else "cpu"
    model = ResidualMLP()
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg.lr)
    use_scaler = cfg.amp and device_type == "cuda"
    scaler = torch.amp.GradScaler(device_type, enabled=use_scaler)
    context = torch.autocast(device_type, dtype=torch.bfloat16) if cfg.amp else contextlib.nullcontext()
    criterion = nn.MSELoss()
    log = []
    optimizer.zero_grad(set_to_none=True)
    for i, (x, y) in enumerate(batches(cfg.steps * cfg.accumulate)):
        with context:
            prediction = model(x)
            loss = criterion(prediction.float(), y) / cfg.accumulate
        scaler.scale(loss).backward()
        if (i + 1) % cfg.accumulate:
            continue
        for group in optimizer.param_groups:
            group["lr"] = lr_at(i // cfg.accumulate, cfg)
        scaler.unscale_(optimizer)
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), cfg.grad_clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        log.append((loss.item() * cfg.accumulate, norm.item()))
    return model, log


if __name__ == "__main__":
    torch.manual_seed(0)
    model, log = train(TrainConfig())
    for step, (loss, norm) in enumerate(log):
        print(f"step {step} loss {loss:.4f} grad norm {norm:.3f}")
