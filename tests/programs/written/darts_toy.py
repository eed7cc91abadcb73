"""DARTS on a toy cell: architecture weights on validation data, operation weights on training data."""
import torch
from torch import nn
import torch.nn.functional as F


OPS = {
    "skip": lambda d: nn.Identity(),
    "linear": lambda d: nn.Linear(d, d),
    "mlp": lambda d: nn.Sequential(nn.Linear(d, d), nn.ReLU(), nn.Linear(d, d)),
}


class MixedOp(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.ops = nn.ModuleDict({name: make(dim) for name, make in OPS.items()})

    def forward(self, x, weights):
        return sum(w * op(x) for w, op in zip(weights, self.ops.values()))


class Network(nn.Module):
    def __init__(self, dim=8, edges=3):
        super().__init__()
        self.stem = nn.Linear(4, dim)
        self.edges = nn.ModuleList([MixedOp(dim) for _ in range(edges)])
        self.out = nn.Linear(dim, 2)
        self.alphas = nn.Parameter(1e-3 * torch.randn(edges, len(OPS)))

    def weight_parameters(self):
        return [p for n, p in self.named_parameters() if n != "alphas"]

    def forward(self, x):
        h = torch.relu(self.stem(x))
        for edge, alpha in zip(self.edges, F.softmax(self.alphas, dim=-1)):
            h = edge(h, alpha)
        return self.out(h)

    def genotype(self):
        names = list(OPS)
        return [names[i] for i in self.alphas.argmax(dim=1).tolist()]


class Architect:
    def __init__(self, network, lr=3e-3):
        self.network = network
        self.optimizer = torch.optim.Adam([network.alphas], lr=lr, betas=(0.5, 0.999))

    def step(self, x, y):
        self.optimizer.zero_grad()
        F.cross_entropy(self.network(x), y).backward()
        self.optimizer.step()


def main():
    torch.manual_seed(0)
    x = torch.randn(120, 4)
    y = (x[:, 0] * x[:, 1] > 0).long()
    network = Network()
    architect = Architect(network)
    optimizer = torch.optim.SGD(network.weight_parameters(), lr=0.05, momentum=0.9)
    for epoch in range(3):
        for (xt, yt), (xv, yv) in zip(zip(x[:60].split(20), y[:60].split(20)), zip(x[60:].split(20), y[60:].split(20))):
            architect.step(xv, yv)
            optimizer.zero_grad()
            loss = F.cross_entropy(network(xt), yt)
            loss.backward()
            nn.utils.clip_grad_norm_(network.weight_parameters(), 5.0)
            optimizer.step()
        print(epoch, loss.item(), network.genotype())


if __name__ == "__main__":
    main()
