import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)


def encoder():
    return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8))


class BYOL(nn.Module):
    def __init__(self):
        super().__init__()
        self.online = encoder()
        self.predictor = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))
        self.target = copy.deepcopy(self.online)
        for one in self.target.parameters():
            one.requires_grad = False

    @torch.no_grad()
    def update(self, rate=0.99):
        for slow, fast in zip(self.target.parameters(), self.online.parameters()):
            slow.copy_(rate * slow + (1 - rate) * fast)

    def forward(self, one, other):
        first, second = self.predictor(self.online(one)), self.predictor(self.online(other))
        with torch.no_grad():
            to_first, to_second = self.target(other), self.target(one)
        return distance(first, to_first).mean() + distance(second, to_second).mean()


def distance(one, other):
    return 2 - 2 * F.cosine_similarity(one, other.detach(), dim=-1)


learner = BYOL()
optimizer = torch.optim.Adam([*learner.online.parameters(), *learner.predictor.parameters()], lr=1e-3)
average = torch.optim.swa_utils.AveragedModel(learner.online)
for step in range(10):
    x = torch.randn(16, 8)
    loss = learner(x + 0.1 * torch.randn_like(x), x + 0.1 * torch.randn_like(x))
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    learner.update()
    average.update_parameters(learner.online)

# A linear probe on features that are fixed.
learner.eval()
probe = nn.Linear(8, 3)
optimizer = torch.optim.SGD(probe.parameters(), lr=0.1)
for step in range(8):
    x, y = torch.randn(16, 8), torch.randint(0, 3, (16,))
    with torch.no_grad():
        features = learner.online(x)
    loss = F.cross_entropy(probe(features), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(loss.item())
