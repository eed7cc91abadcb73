"""A spiking network with a surrogate gradient, unrolled over time."""
import torch
from torch import nn


class Spike(torch.autograd.Function):
    scale = 10.0

    @staticmethod
    def forward(ctx, potential):
        ctx.save_for_backward(potential)
        return (potential > 0).to(potential.dtype)

    @staticmethod
    def backward(ctx, grad_output):
        (potential,) = ctx.saved_tensors
        return grad_output / (Spike.scale * potential.abs() + 1.0) ** 2


class LIF(nn.Module):
    def __init__(self, d_in, d_out, beta=0.9):
        super().__init__()
        self.fc = nn.Linear(d_in, d_out)
        self.beta = nn.Parameter(torch.tensor(beta))
        self.threshold = 1.0

    def init(self, batch):
        return torch.zeros(batch, self.fc.out_features)

    def forward(self, x, mem):
        mem = self.beta * mem + self.fc(x)
        out = Spike.apply(mem - self.threshold)
        mem = mem - out.detach() * self.threshold
        return out, mem


class SNN(nn.Module):
    def __init__(self, d_in=10, hidden=20, classes=3, steps=8):
        super().__init__()
        self.first, self.second = LIF(d_in, hidden), LIF(hidden, classes)
        self.steps = steps

    def forward(self, rates):
        mem1, mem2 = self.first.init(len(rates)), self.second.init(len(rates))
        counts, record = 0, []
        for _ in range(self.steps):
            spikes, mem1 = self.first(torch.bernoulli(rates), mem1)
            out, mem2 = self.second(spikes, mem2)
            counts = counts + out
            record.append(mem2)
        return counts, torch.stack(record)


def loader(n=120, batch=30):
    y = torch.randint(0, 3, (n,))
    rates = torch.full((n, 10), 0.1)
    for k in range(3):
        rates[y == k, 3 * k:3 * k + 3] = 0.8
    for i in range(0, n, batch):
        yield rates[i:i + batch], y[i:i + batch]


def main():
    torch.manual_seed(0)
    net = SNN()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-2, betas=(0.9, 0.999))
    loss_fn = nn.CrossEntropyLoss()
    for epoch in range(3):
        hits = seen = 0
        for rates, y in loader():
            counts, potentials = net(rates)
            loss = torch.zeros(())
            for step in range(net.steps):
                loss = loss + loss_fn(potentials[step], y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            hits += (counts.argmax(1) == y).sum().item()
            seen += len(y)
        print(epoch, loss.item(), hits / seen)


if __name__ == "__main__":
    main()
