import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(4)


class Attention(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.weight = nn.Linear(inside, outside, bias=False)
        self.source = nn.Parameter(torch.randn(outside) * 0.1)
        self.target = nn.Parameter(torch.randn(outside) * 0.1)

    def forward(self, x, adjacency):
        h = self.weight(x)
        scores = F.leaky_relu((h @ self.source)[:, None] + (h @ self.target)[None, :], 0.2)
        scores = scores.masked_fill(adjacency == 0, float("-inf"))
        return torch.softmax(scores, dim=1) @ h


class Gat(nn.Module):
    def __init__(self, features, classes, heads=2):
        super().__init__()
        self.heads = nn.ModuleList([Attention(features, 8) for _ in range(heads)])
        self.out = Attention(8 * heads, classes)
        self.dropout = nn.Dropout(0.3)

    def forward(self, x, adjacency):
        h = torch.cat([F.elu(head(x, adjacency)) for head in self.heads], dim=1)
        return F.log_softmax(self.out(self.dropout(h), adjacency), dim=1)


nodes, classes = 40, 3
labels = torch.randint(classes, (nodes,))
x = torch.randn(nodes, 6) + F.one_hot(labels, 6) * 2.0
adjacency = ((torch.rand(nodes, nodes) < 0.1) | torch.eye(nodes, dtype=torch.bool)).float()
train_mask = torch.arange(nodes) < 24
model = Gat(6, classes)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)


def evaluate():
    model.eval()
    with torch.no_grad():
        predicted = model(x, adjacency).argmax(1)
    return (predicted == labels)[~train_mask].float().mean().item()


best = 0.0
for epoch in range(20):
    model.train()
    optimizer.zero_grad()
    output = model(x, adjacency)
    loss = F.nll_loss(output[train_mask], labels[train_mask])
    loss.backward()
    optimizer.step()
    best = max(best, evaluate())
print(best)
