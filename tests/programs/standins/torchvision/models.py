"""Tiny networks under the names of well-known ones; weights are random."""

from __future__ import annotations

import enum

import torch
from torch import nn


class VGG19_Weights(enum.Enum):  # noqa: N801 - the real name
    DEFAULT = "random"


class ResNet18_Weights(enum.Enum):  # noqa: N801 - the real name
    DEFAULT = "random"


class _VGG(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 4, 3, padding=1), nn.ReLU(inplace=True),
            nn.Conv2d(4, 4, 3, padding=1), nn.ReLU(inplace=True), nn.MaxPool2d(2),
            nn.Conv2d(4, 6, 3, padding=1), nn.ReLU(inplace=True),
        )  # fmt: skip
        self.classifier = nn.Linear(6, 10)


class _ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(3, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.relu = nn.ReLU(inplace=True)
        self.layer4 = nn.Conv2d(4, 8, 3, padding=1)
        self.avgpool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(8, 1000)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.avgpool(self.layer4(x)).flatten(1)
        return self.fc(x)


def vgg19(weights: VGG19_Weights | None = None) -> _VGG:
    return _VGG()


def resnet18(weights: ResNet18_Weights | None = None) -> _ResNet:
    return _ResNet()
