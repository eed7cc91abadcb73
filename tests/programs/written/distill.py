"""Knowledge distillation: a wide teacher, a thin student, temperature and a hint loss."""

from __future__ import annotations

import logging

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

logging.basicConfig(level=logging.INFO)
log = logging.getLogger(__name__)


class Spirals(Dataset):
    def __init__(self, n: int = 96, classes: int = 3) -> None:
        t = torch.linspace(0.2, 1.0, n)
        self.y = torch.arange(n) % classes
        angle = 4.0 * t + self.y.float() * 2.1
        self.x = torch.stack([t * angle.sin(), t * angle.cos()], dim=1)

    def __len__(self) -> int:
        return len(self.y)

    def __getitem__(self, i: int) -> tuple[torch.Tensor, torch.Tensor]:
        return self.x[i], self.y[i]


class Net(nn.Module):
    def __init__(self, width: int, classes: int = 3) -> None:
        super().__init__()
        self.stem = nn.Linear(2, width)
        self.mid = nn.Linear(width, width)
        self.head = nn.Linear(width, classes)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        h = F.relu(self.stem(x))
        features = F.relu(self.mid(h))
        return self.head(features), features


class DistillLoss(nn.Module):
    def __init__(self, temperature: float = 3.0, alpha: float = 0.7) -> None:
        super().__init__()
        self.temperature = temperature
        self.alpha = alpha
        self.ce = nn.CrossEntropyLoss()

    def forward(self, student: torch.Tensor, teacher: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        t = self.temperature
        soft = F.kl_div(F.log_softmax(student / t, dim=1), F.softmax(teacher / t, dim=1), reduction="batchmean")
        return self.alpha * t * t * soft + (1 - self.alpha) * self.ce(student, target)


def fit_teacher(teacher: Net, loader: DataLoader) -> None:
    optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
    for x, y in loader:
        logits, _ = teacher(x)
        loss = F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def distill(teacher: Net, student: Net, loader: DataLoader, epochs: int = 3) -> list[float]:
    teacher.eval()
    for parameter in teacher.parameters():
        parameter.requires_grad = False
    adapter = nn.Linear(student.mid.out_features, teacher.mid.out_features)
    criterion = DistillLoss()
    optimizer = torch.optim.SGD([*student.parameters(), *adapter.parameters()], lr=0.05, momentum=0.9)
    losses = []
    for epoch in range(epochs):
        epoch_losses = []
        for x, y in loader:
            with torch.no_grad():
                teacher_logits, teacher_features = teacher(x)
            logits, features = student(x)
            hint = F.mse_loss(adapter(features), teacher_features)
            loss = criterion(logits, teacher_logits, y) + 0.1 * hint
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            epoch_losses.append(loss.item())
        losses.append(sum(epoch_losses) / len(epoch_losses))
        log.info("epoch %d loss %.4f", epoch, losses[-1])
    return losses


def main() -> None:
    torch.manual_seed(0)
    loader = DataLoader(Spirals(), batch_size=16, shuffle=True)
    teacher, student = Net(64), Net(8)
    fit_teacher(teacher, loader)
    distill(teacher, student, loader)


if __name__ == "__main__":
    main()
