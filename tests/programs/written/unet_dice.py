import random
from collections import defaultdict

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.utils.data import DataLoader, Dataset
from tqdm import tqdm


class Blobs(Dataset):
    def __init__(self, n=12, size=16):
        self.images, self.masks = [], []
        for _ in range(n):
            mask = np.zeros((size, size), dtype=np.float32)
            r, c = random.randint(2, size - 6), random.randint(2, size - 6)
            mask[r:r + 4, c:c + 4] = 1
            image = mask + 0.3 * np.random.randn(size, size).astype(np.float32)
            self.images.append(image[None])
            self.masks.append(mask[None])

    def __len__(self):
        return len(self.images)

    def __getitem__(self, idx):
        return [torch.from_numpy(self.images[idx]), torch.from_numpy(self.masks[idx])]


def double_conv(in_channels, out_channels):
    return nn.Sequential(
        nn.Conv2d(in_channels, out_channels, 3, padding=1), nn.ReLU(inplace=True),
        nn.Conv2d(out_channels, out_channels, 3, padding=1), nn.ReLU(inplace=True))


class UNet(nn.Module):
    def __init__(self, n_class):
        super().__init__()
        self.dconv_down1 = double_conv(1, 4)
        self.dconv_down2 = double_conv(4, 8)
        self.maxpool = nn.MaxPool2d(2)
        self.upsample = nn.Upsample(scale_factor=2, mode='bilinear', align_corners=True)
        self.dconv_up1 = double_conv(8 + 4, 4)
        self.conv_last = nn.Conv2d(4, n_class, 1)

    def forward(self, x):
        conv1 = self.dconv_down1(x)
        x = self.maxpool(conv1)
        x = self.dconv_down2(x)
        x = self.upsample(x)
        x = torch.cat([x, conv1], dim=1)
        x = self.dconv_up1(x)
        return self.conv_last(x)


def dice_loss(pred, target, smooth=1.):
    pred = pred.contiguous()
    target = target.contiguous()
    intersection = (pred * target).sum(dim=2).sum(dim=2)
    loss = 1 - ((2. * intersection + smooth) / (pred.sum(dim=2).sum(dim=2) + target.sum(dim=2).sum(dim=2) + smooth))
    return loss.mean()


def calc_loss(pred, target, metrics, bce_weight=0.5):
    bce = F.binary_cross_entropy_with_logits(pred, target)
    pred = torch.sigmoid(pred)
    dice = dice_loss(pred, target)
    loss = bce * bce_weight + dice * (1 - bce_weight)
    metrics['bce'] += bce.data.cpu().numpy() * target.size(0)
    metrics['dice'] += dice.data.cpu().numpy() * target.size(0)
    metrics['loss'] += loss.data.cpu().numpy() * target.size(0)
    return loss


def iou(logits, target):
    hard = (torch.sigmoid(logits) > 0.5).float()
    inter = (hard * target).sum()
    return (inter / ((hard + target) > 0).sum().clamp(min=1)).item()


def train_model(model, optimizer, loaders, num_epochs=2):
    best = 1e10
    for epoch in range(num_epochs):
        for phase in ['train', 'val']:
            model.train() if phase == 'train' else model.eval()
            metrics = defaultdict(float)
            scores = []
            for inputs, labels in tqdm(loaders[phase]):
                optimizer.zero_grad()
                with torch.set_grad_enabled(phase == 'train'):
                    outputs = model(inputs)
                    loss = calc_loss(outputs, labels, metrics)
                    if phase == 'train':
                        loss.backward()
                        optimizer.step()
                scores.append(iou(outputs, labels))
            epoch_loss = metrics['loss'] / len(loaders[phase].dataset)
            print(phase, epoch_loss, sum(scores) / len(scores))
            if phase == 'val' and epoch_loss < best:
                best = epoch_loss
    return model


loaders = {'train': DataLoader(Blobs(12), batch_size=4, shuffle=True), 'val': DataLoader(Blobs(4), batch_size=4)}
model = UNet(1)
optimizer_ft = optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
model = train_model(model, optimizer_ft, loaders)
