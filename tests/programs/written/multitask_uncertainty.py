"""Two tasks on one trunk, weighted by learned homoscedastic uncertainty."""
from collections import OrderedDict

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class MultiTaskLossWrapper(nn.Module):
    def __init__(self, task_num):
        super(MultiTaskLossWrapper, self).__init__()
        self.task_num = task_num
        self.log_vars = nn.Parameter(torch.zeros((task_num)))

    def forward(self, losses):
        total = 0
        for i, loss in enumerate(losses):
            precision = torch.exp(-self.log_vars[i])
            total += precision * loss + self.log_vars[i]
        return total


class MultiTaskNet(nn.Module):
    def __init__(self, n_in=5, n_classes=3):
        super().__init__()
        self.trunk = nn.Sequential(OrderedDict([
            ('fc1', nn.Linear(n_in, 16)), ('act1', nn.ELU(inplace=True)),
            ('fc2', nn.Linear(16, 16)), ('act2', nn.ELU(inplace=True)),
        ]))
        self.heads = nn.ModuleDict({'depth': nn.Linear(16, 1), 'label': nn.Linear(16, n_classes)})

    def forward(self, x):
        shared = self.trunk(x)
        return {name: head(shared) for name, head in self.heads.items()}


def train_epoch(net, wrapper, loader, optimizer):
    mse, ce = nn.MSELoss(), nn.CrossEntropyLoss()
    sums = {'depth': 0.0, 'label': 0.0, 'total': 0.0}
    for x, depth, label in loader:
        out = net(x)
        losses = [mse(out['depth'].squeeze(1), depth), ce(out['label'], label)]
        total = wrapper(losses)
        optimizer.zero_grad()
        total.backward()
        optimizer.step()
        sums['depth'] += float(losses[0])
        sums['label'] += float(losses[1])
        sums['total'] += float(total)
    return {k: v / len(loader) for k, v in sums.items()}


@torch.no_grad()
def evaluate(net, loader):
    net.eval()
    correct, absolute, n = 0, 0.0, 0
    for x, depth, label in loader:
        out = net(x)
        correct += (out['label'].argmax(-1) == label).sum()
        absolute += (out['depth'].squeeze(1) - depth).abs().sum()
        n += len(x)
    net.train()
    return {'accuracy': (correct / n).item(), 'mae': (absolute / n).item()}


SEED = 11
torch.manual_seed(SEED)
features = torch.randn(80, 5)
depth = features.abs().sum(1)
label = (features[:, 0] > 0).long() + (features[:, 1] > 0).long()
loader = DataLoader(TensorDataset(features, depth, label), batch_size=20, shuffle=True)
net = MultiTaskNet()
wrapper = MultiTaskLossWrapper(2)
optimizer = torch.optim.Adam([
    {'params': net.parameters()},
    {'params': wrapper.parameters(), 'lr': 1e-2, 'weight_decay': 0},
], lr=5e-3, weight_decay=1e-4)

for epoch in range(3):
    stats = train_epoch(net, wrapper, loader, optimizer)
    print(epoch, stats, evaluate(net, loader), wrapper.log_vars.detach().exp().sqrt().tolist())
