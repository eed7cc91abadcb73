import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(11)


class Classifier(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.hidden = nn.Linear(32, 16)
        self.head = nn.Linear(16, classes)

    def forward(self, x):
        return self.head(torch.relu(self.hidden(self.backbone(x))))


backbone = nn.Sequential(nn.Linear(8, 32), nn.BatchNorm1d(32), nn.ReLU())
model = Classifier(backbone, 3)
for p in model.backbone.parameters():
    p.requires_grad = False
optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=0.05)
data, labels = torch.randn(64, 8), torch.randint(3, (64,))


def run_epoch():
    model.train()
    total = 0.0
    for x, y in zip(data.split(8), labels.split(8)):
        loss = F.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total


def accuracy():
    model.eval()
    with torch.no_grad():
        return sum((model(x).argmax(1) == y).sum().item() for x, y in zip(data.split(8), labels.split(8)))


for epoch in range(2):
    run_epoch()
for p in model.backbone.parameters():
    p.requires_grad = True
optimizer.add_param_group({"params": list(model.backbone.parameters()), "lr": 0.005})
for epoch in range(2):
    run_epoch()
    print(accuracy())
