"""Elastic weight consolidation over three small tasks."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def make_task(shift, n=60):
    g = torch.Generator().manual_seed(int(shift * 10))
    x = torch.randn(n, 6, generator=g) + shift
    return x, (x.sum(1) > 6 * shift).long()


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = nn.Linear(6, 16)
        self.fc2 = nn.Linear(16, 2)

    def forward(self, x):
        return self.fc2(F.relu(self.fc1(x)))


class EWC:
    def __init__(self, model, strength=50.0):
        self.model, self.strength = model, strength
        self.anchors, self.fisher = [], []

    def consolidate(self, x, y):
        fisher = {name: torch.zeros_like(p) for name, p in self.model.named_parameters()}
        self.model.eval()
        for xi, yi in zip(x.split(10), y.split(10)):
            self.model.zero_grad()
            F.nll_loss(F.log_softmax(self.model(xi), dim=1), yi).backward()
            for name, p in self.model.named_parameters():
                fisher[name] += p.grad.detach() ** 2 * len(xi) / len(x)
        self.model.zero_grad()
        self.anchors.append({name: p.detach().clone() for name, p in self.model.named_parameters()})
        self.fisher.append(fisher)

    def penalty(self):
        total = torch.zeros(())
        for anchor, fisher in zip(self.anchors, self.fisher):
            for name, p in self.model.named_parameters():
                total = total + (fisher[name] * (p - anchor[name]) ** 2).sum()
        return 0.5 * self.strength * total


def train_task(model, ewc, x, y, epochs=5):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model.train()
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) + ewc.penalty()
        loss.backward()
        optimizer.step()
    return loss.item()


def accuracy(model, x, y):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


if __name__ == '__main__':
    torch.manual_seed(0)
    tasks = [make_task(s) for s in (0.0, 0.5, 1.0)]
    model = Net()
    ewc = EWC(model)
    for number, (x, y) in enumerate(tasks):
        last = train_task(model, ewc, x, y)
        ewc.consolidate(x, y)
        print(number, f'{last:.3f}', [f'{accuracy(model, *t):.2f}' for t in tasks[:number + 1]])
