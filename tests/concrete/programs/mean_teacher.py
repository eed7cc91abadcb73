import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(9)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(3, 8, 3, padding=1)
        self.norm = nn.BatchNorm1d(8)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        return self.head(torch.relu(self.norm(self.conv(x))).mean(2))


class Trainer:
    def __init__(self, alpha=0.95):
        self.student = Net()
        self.teacher = copy.deepcopy(self.student)
        for p in self.teacher.parameters():
            p.requires_grad_(False)
        self.alpha = alpha
        self.optimizer = torch.optim.SGD(self.student.parameters(), lr=0.05, momentum=0.9)
        self.losses = []

    def update_teacher(self):
        with torch.no_grad():
            for slow, fast in zip(self.teacher.parameters(), self.student.parameters()):
                slow.mul_(self.alpha).add_(fast, alpha=1 - self.alpha)

    def train_step(self, x, y, unlabelled):
        self.student.train()
        supervised = F.cross_entropy(self.student(x), y)
        with torch.no_grad():
            target = self.teacher(unlabelled).softmax(1)
        noisy = self.student(unlabelled + 0.1 * torch.randn_like(unlabelled))
        consistency = F.mse_loss(noisy.softmax(1), target)
        loss = supervised + 0.5 * consistency
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.update_teacher()
        self.losses.append(loss.item())

    def validate(self, x, y):
        self.student.eval()
        with torch.no_grad():
            return F.cross_entropy(self.student(x), y).item()


trainer = Trainer()
x, y = torch.randn(64, 3, 10), torch.randint(4, (64,))
for epoch in range(4):
    for i in range(0, 48, 8):
        trainer.train_step(x[i : i + 8], y[i : i + 8], torch.randn(8, 3, 10))
    trainer.validate(x[48:], y[48:])
print(trainer.losses[-1])
