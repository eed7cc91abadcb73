"""A small U-Net that segments discs, with a Dice and a cross entropy loss, validation and early stopping."""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(5)


class Discs(Dataset):
    def __init__(self, count, size=16):
        grid = torch.stack(torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")).float()
        centres = torch.randint(4, size - 4, (count, 2, 1, 1)).float()
        radii = torch.randint(2, 5, (count, 1, 1)).float()
        self.masks = ((grid - centres).pow(2).sum(1).sqrt() < radii).float()
        self.images = self.masks + 0.5 * torch.randn_like(self.masks)

    def __len__(self):
        return len(self.masks)

    def __getitem__(self, index):
        return self.images[index][None], self.masks[index][None]


class Double(nn.Module):
    def __init__(self, inside, outside):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(inside, outside, 3, padding=1, bias=False),
            nn.BatchNorm2d(outside),
            nn.ReLU(inplace=True),
            nn.Conv2d(outside, outside, 3, padding=1, bias=False),
            nn.BatchNorm2d(outside),
            nn.ReLU(inplace=True),
        )

    def forward(self, x):
        return self.body(x)


class UNet(nn.Module):
    def __init__(self, width=6):
        super().__init__()
        self.down1 = Double(1, width)
        self.down2 = Double(width, 2 * width)
        self.bottom = Double(2 * width, 4 * width)
        self.up2 = nn.ConvTranspose2d(4 * width, 2 * width, 2, stride=2)
        self.join2 = Double(4 * width, 2 * width)
        self.up1 = nn.ConvTranspose2d(2 * width, width, 2, stride=2)
        self.join1 = Double(2 * width, width)
        self.head = nn.Conv2d(width, 1, 1)

    def forward(self, x):
        one = self.down1(x)
        two = self.down2(F.max_pool2d(one, 2))
        low = self.bottom(F.max_pool2d(two, 2))
        two = self.join2(torch.cat([self.up2(low), two], dim=1))
        one = self.join1(torch.cat([self.up1(two), one], dim=1))
        return self.head(one)


def dice(logits, mask):
    probability = torch.sigmoid(logits)
    overlap = (probability * mask).sum(dim=(1, 2, 3))
    size = probability.sum(dim=(1, 2, 3)) + mask.sum(dim=(1, 2, 3))
    return 1 - ((2 * overlap + 1) / (size + 1)).mean()


class Stopper:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, None, 0

    def __call__(self, value):
        if self.best is None or value < self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def run_epoch(net, loader, optimizer=None):
    training = optimizer is not None
    net.train(training)
    total = 0.0
    with torch.set_grad_enabled(training):
        for image, mask in loader:
            logits = net(image)
            loss = F.binary_cross_entropy_with_logits(logits, mask) + dice(logits, mask)
            if training:
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                optimizer.step()
            total += loss.item() * len(image)
    return total / len(loader.dataset)


net = UNet()
train_loader = DataLoader(Discs(24), batch_size=4, shuffle=True)
val_loader = DataLoader(Discs(8), batch_size=4)
optimizer = torch.optim.AdamW(net.parameters(), lr=5e-3)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
stop, curves = Stopper(3), []
for epoch in range(3):
    train_loss = run_epoch(net, train_loader, optimizer)
    val_loss = run_epoch(net, val_loader)
    plateau.step(val_loss)
    curves.append((train_loss, val_loss))
    if stop(val_loss):
        break
print(f"epochs {len(curves)} loss {curves[-1][0]:.3f} {curves[-1][1]:.3f}")
