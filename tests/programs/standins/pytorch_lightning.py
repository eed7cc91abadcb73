"""A stand-in for PyTorch Lightning: the training loop that the programs rely on, and nothing else."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import torch
from torch import nn


def seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


class LightningModule(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.automatic_optimization = True
        self.logged: dict[str, float] = {}
        self._made: list[torch.optim.Optimizer] = []

    def save_hyperparameters(self) -> None:
        """Nothing is saved."""

    def log(self, name: str, value: Any, **_: Any) -> None:
        self.logged[name] = float(value)

    def log_dict(self, values: dict[str, Any], **_: Any) -> None:
        for name, value in values.items():
            self.log(name, value)

    def optimizers(self) -> list[torch.optim.Optimizer]:
        return self._made

    def manual_backward(self, loss: torch.Tensor, **options: Any) -> None:
        loss.backward(**options)

    def on_validation_epoch_end(self) -> None:
        """For subclasses."""


class Trainer:
    def __init__(self, max_epochs: int = 1, gradient_clip_val: float | None = None, **_: Any) -> None:
        self.max_epochs = max_epochs
        self.clip = gradient_clip_val

    def fit(self, module: Any, loader: Iterable[Any], val_loader: Iterable[Any] | None = None) -> None:
        module._made, schedulers = module.configure_optimizers()
        for _ in range(self.max_epochs):
            module.train()
            for index, batch in enumerate(loader):
                loss = module.training_step(batch, index)
                if module.automatic_optimization:
                    self._optimize(module, loss)
            for scheduler in schedulers:
                scheduler.step()
            if val_loader is not None:
                self._validate(module, val_loader)

    def _optimize(self, module: Any, loss: torch.Tensor) -> None:
        (optimizer,) = module._made
        optimizer.zero_grad()
        loss.backward()
        if self.clip is not None:
            nn.utils.clip_grad_norm_(module.parameters(), self.clip)
        optimizer.step()

    def _validate(self, module: Any, loader: Iterable[Any]) -> None:
        module.eval()
        with torch.no_grad():
            for index, batch in enumerate(loader):
                module.validation_step(batch, index)
            module.on_validation_epoch_end()
