import torch
from torch import nn


class ConvBlock(nn.Module):
    def __init__(self, c_in, c_out):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(c_in, c_out, 3, padding=1, bias=False), nn.InstanceNorm2d(c_out, affine=True), nn.ReLU(inplace=True))

    def forward(self, x):
        return self.body(x)


class AttentionGate(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.g, self.x = nn.Conv2d(c, c, 1), nn.Conv2d(c, c, 1)
        self.psi = nn.Sequential(nn.Conv2d(c, 1, 1), nn.Sigmoid())

    def forward(self, gate, skip):
        return skip * self.psi(torch.relu(self.g(gate) + self.x(skip)))


class SegNet(nn.Module):
    def __init__(self, classes=3, width=6):
        super().__init__()
        self.down = ConvBlock(1, width)
        self.mid = ConvBlock(width, width)
        self.gate = AttentionGate(width)
        self.up = ConvBlock(2 * width, width)
        self.heads = nn.ModuleDict({"main": nn.Conv2d(width, classes, 1), "aux": nn.Conv2d(width, classes, 1)})

    def forward(self, x):
        skip = self.down(x)
        mid = self.mid(nn.functional.max_pool2d(skip, 2))
        gate = nn.functional.interpolate(mid, scale_factor=2, mode="bilinear", align_corners=False)
        out = self.up(torch.cat([gate, self.gate(gate, skip)], 1))
        result = {"main": self.heads["main"](out)}
        if self.training:
            result["aux"] = self.heads["aux"](gate)
        return result
