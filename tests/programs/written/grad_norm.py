"""GradNorm: the weights of several losses are learnt from the norms of their gradients."""
import torch
from torch import nn


class SharedNet(nn.Module):
    def __init__(self, tasks):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(5, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.heads = nn.ModuleList(nn.Linear(32, 2) for _ in range(tasks))

    def forward(self, x):
        h = self.trunk(x)
        return [head(h) for head in self.heads]

    @property
    def last_shared(self):
        return self.trunk[2]


def toy(tasks, n=100):
    x = torch.randn(n, 5)
    base = torch.randn(5, 2)
    return x, [torch.tanh(x @ (base + 0.3 * torch.randn(5, 2))) * 10 ** k for k in range(tasks)]


def train(steps=15, alpha=0.12, tasks=2):
    net = SharedNet(tasks)
    weights = torch.ones(tasks, requires_grad=True)
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    weight_optimizer = torch.optim.Adam([weights], lr=1e-2)
    x, targets = toy(tasks)
    initial = None
    for step in range(steps):
        losses = torch.stack([(out - y).pow(2).mean() for out, y in zip(net(x), targets)])
        if initial is None:
            initial = losses.detach()
        total = (weights * losses).sum()
        optimizer.zero_grad()
        total.backward(retain_graph=True)

        norms = torch.stack([
            torch.autograd.grad(weights[i] * losses[i], net.last_shared.weight, retain_graph=True, create_graph=True)[0].norm()
            for i in range(tasks)
        ])
        ratio = losses.detach() / initial
        wanted = (norms.mean() * (ratio / ratio.mean()) ** alpha).detach()
        norm_loss = (norms - wanted).abs().sum()
        weights.grad = torch.autograd.grad(norm_loss, weights)[0]
        optimizer.step()
        weight_optimizer.step()
        with torch.no_grad():
            weights *= tasks / weights.sum()
    return weights.tolist(), total.item()


torch.manual_seed(0)
print(train())
