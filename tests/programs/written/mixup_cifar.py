"""Residual network with mixup, label smoothing and stochastic weight averaging on random images."""
from __future__ import print_function

import copy

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.optim.swa_utils import AveragedModel, update_bn


class BasicBlock(nn.Module):
    def __init__(self, in_planes, planes, stride=1):
        super(BasicBlock, self).__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != planes:
            self.shortcut = nn.Sequential(nn.Conv2d(in_planes, planes, 1, stride=stride, bias=False), nn.BatchNorm2d(planes))

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        out = F.relu(out)
        return out


class ResNet(nn.Module):
    def __init__(self, num_blocks, num_classes=4):
        super(ResNet, self).__init__()
        self.in_planes = 4
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(4)
        self.layer1 = self._make_layer(4, num_blocks[0], stride=1)
        self.layer2 = self._make_layer(8, num_blocks[1], stride=2)
        self.linear = nn.Linear(8, num_classes)

    def _make_layer(self, planes, num_blocks, stride):
        layers = []
        for s in [stride] + [1] * (num_blocks - 1):
            layers.append(BasicBlock(self.in_planes, planes, s))
            self.in_planes = planes
        return nn.Sequential(*layers)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer2(self.layer1(out))
        out = F.avg_pool2d(out, out.size(-1))
        return self.linear(out.view(out.size(0), -1))


def mixup_data(x, y, alpha=1.0):
    '''Returns mixed inputs, pairs of targets, and lambda'''
    lam = np.random.beta(alpha, alpha) if alpha > 0 else 1
    index = torch.randperm(x.size(0))
    mixed_x = lam * x + (1 - lam) * x[index, :]
    return mixed_x, y, y[index], lam


def mixup_criterion(criterion, pred, y_a, y_b, lam):
    return lam * criterion(pred, y_a) + (1 - lam) * criterion(pred, y_b)


np.random.seed(0)
torch.manual_seed(0)
trainset = [(torch.randn(8, 3, 8, 8), torch.randint(0, 4, (8,))) for _ in range(4)]
net = ResNet([1, 1])
swa_net = AveragedModel(net)
criterion = nn.CrossEntropyLoss(label_smoothing=0.1)
optimizer = optim.SGD(net.parameters(), lr=0.05, momentum=0.9, weight_decay=5e-4)
best_loss, best_state = float('inf'), None


def train(epoch):
    net.train()
    train_loss = 0
    correct = 0.0
    total = 0
    for batch_idx, (inputs, targets) in enumerate(trainset):
        inputs, targets_a, targets_b, lam = mixup_data(inputs, targets)
        outputs = net(inputs)
        loss = mixup_criterion(criterion, outputs, targets_a, targets_b, lam)
        train_loss += loss.data
        _, predicted = torch.max(outputs.data, 1)
        total += targets.size(0)
        correct += (lam * predicted.eq(targets_a.data).cpu().sum().float()
                    + (1 - lam) * predicted.eq(targets_b.data).cpu().sum().float())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return train_loss / (batch_idx + 1), 100. * correct / total


def test():
    net.eval()
    losses = []
    with torch.no_grad():
        for inputs, targets in trainset:
            losses.append(F.cross_entropy(net(inputs), targets))
    return torch.stack(losses).mean().item()


for epoch in range(2):
    loss, acc = train(epoch)
    swa_net.update_parameters(net)
    val = test()
    if val < best_loss:
        best_loss, best_state = val, copy.deepcopy(net.state_dict())
    print('%d loss %.3f acc %.1f val %.3f' % (epoch, loss, acc, val))
update_bn((x for x, _ in trainset), swa_net)
net.load_state_dict(best_state)
