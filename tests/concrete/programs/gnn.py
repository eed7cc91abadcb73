import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
nodes, features, classes = 30, 8, 3
x, y = torch.randn(nodes, features), torch.randint(0, classes, (nodes,))
edges = torch.randint(0, nodes, (2, 90))
mask = torch.rand(nodes) < 0.6


class Convolution(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(inside, outside))
        self.bias = nn.Parameter(torch.zeros(outside))
        self.weight.data.uniform_(-0.5, 0.5)

    def forward(self, x, edges):
        source, target = edges
        degree = torch.zeros(x.size(0)).index_add_(0, target, torch.ones(target.size(0))).clamp(min=1)
        h = x @ self.weight
        out = torch.zeros_like(h).index_add(0, target, h[source])
        return out / degree.sqrt()[:, None] + self.bias


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Convolution(features, 16), Convolution(16, classes)])

    def forward(self, x, edges):
        h = F.relu(self.layers[0](x, edges))
        h = F.dropout(h, p=0.5, training=self.training)
        return F.log_softmax(self.layers[1](h, edges), dim=1)


model = Net()
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
best = 0.0
for epoch in range(10):
    model.train()
    optimizer.zero_grad()
    out = model(x, edges)
    loss = F.nll_loss(out[mask], y[mask])
    loss.backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        guess = model(x, edges).argmax(1)
        best = max(best, (guess[~mask] == y[~mask]).float().mean().item())
print(best)
