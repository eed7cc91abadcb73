import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(5)


class Projector(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(16, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, h):
        return F.normalize(self.net(h), dim=1)


encoder = nn.Sequential(nn.Linear(20, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Linear(32, 16))
projector = Projector()
log_scale = nn.Parameter(torch.tensor(2.0))
parameters = [*encoder.parameters(), *projector.parameters(), log_scale]
optimizer = torch.optim.SGD(parameters, lr=0.05, momentum=0.9)
epochs = 5
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs)
data = torch.randn(96, 20)


def views(x):
    return x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x)


def info_nce(one, other):
    logits = one @ other.t() * log_scale.exp()
    target = torch.arange(len(one))
    return 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.t(), target))


losses = []
for epoch in range(epochs):
    encoder.train()
    for x in data[torch.randperm(96)].split(16):
        one, other = views(x)
        loss = info_nce(projector(encoder(one)), projector(encoder(other)))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    scheduler.step()

encoder.eval()
probe = nn.Linear(16, 3)
probe_optimizer = torch.optim.Adam(probe.parameters(), lr=0.01)
labels = torch.randint(3, (96,))
with torch.no_grad():
    features = encoder(data)
for _ in range(8):
    loss = F.cross_entropy(probe(features), labels)
    probe_optimizer.zero_grad()
    loss.backward()
    probe_optimizer.step()
print(losses[-1], loss.item())
