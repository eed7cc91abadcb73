"""Capsules with dynamic routing on tiny images, margin loss and a reconstruction."""
import torch
from torch import nn
import torch.nn.functional as F


def squash(x, dim=-1):
    n2 = x.pow(2).sum(dim=dim, keepdim=True)
    return n2 / (1 + n2) * x / (n2 + 1e-8).sqrt()


class Primary(nn.Module):
    def __init__(self, channels=8, caps=4):
        super().__init__()
        self.conv = nn.Conv2d(1, channels * caps, 3, stride=2)
        self.caps = caps

    def forward(self, x):
        u = self.conv(x)
        return squash(u.view(u.size(0), -1, self.caps))


class Digits(nn.Module):
    def __init__(self, n_in, classes=3, d_in=4, d_out=6, rounds=3):
        super().__init__()
        self.w = nn.Parameter(0.1 * torch.randn(1, n_in, classes, d_out, d_in))
        self.rounds = rounds

    def forward(self, u):
        u_hat = (self.w @ u[:, :, None, :, None]).squeeze(-1)
        fixed = u_hat.detach()
        b = torch.zeros(*u_hat.shape[:3], 1)
        for r in range(self.rounds):
            c = F.softmax(b, dim=2)
            if r == self.rounds - 1:
                return squash((c * u_hat).sum(dim=1))
            v = squash((c * fixed).sum(dim=1, keepdim=True))
            b = b + (fixed * v).sum(dim=-1, keepdim=True)


class CapsNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.primary = Primary()
        self.digits = Digits(n_in=8 * 9)
        self.decoder = nn.Sequential(nn.Linear(18, 32), nn.ReLU(inplace=True), nn.Linear(32, 64), nn.Sigmoid())

    def forward(self, x, y):
        v = self.digits(self.primary(x))
        mask = F.one_hot(y, 3).float().unsqueeze(-1)
        return v, self.decoder((v * mask).flatten(1)).view_as(x)


def margin_loss(v, y):
    length = (v.pow(2).sum(dim=-1) + 1e-8).sqrt()
    t = F.one_hot(y, 3).float()
    loss = t * F.relu(0.9 - length).pow(2) + 0.5 * (1 - t) * F.relu(length - 0.1).pow(2)
    return loss.sum(dim=1).mean(), length


torch.manual_seed(0)
images = torch.rand(48, 1, 8, 8)
labels = torch.arange(48) % 3
for k in range(3):
    images[labels == k, :, 2 * k:2 * k + 3] += 1
images = images.clamp(0, 1)
model = CapsNet()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
for epoch in range(3):
    hits = 0
    for x, y in zip(images.split(16), labels.split(16)):
        v, picture = model(x, y)
        margin, length = margin_loss(v, y)
        loss = margin + 5e-4 * F.mse_loss(picture, x, reduction="sum")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        hits += int((length.argmax(1) == y).sum())
    print("epoch", epoch, loss.item(), hits / len(labels))
