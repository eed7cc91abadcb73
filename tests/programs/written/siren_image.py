# Fit a SIREN to an image, supervised by values and by gradients.
import math
from collections import deque

import numpy as np
import torch
from torch import nn


class Sine(nn.Module):
    def __init__(self, w0):
        super().__init__()
        self.w0 = w0

    def forward(self, x):
        return torch.sin(self.w0 * x)


class Siren(nn.Sequential):
    def __init__(self, d_in=2, d_hidden=24, d_out=1, depth=2, w0=15.0):
        layers, d = [], d_in
        for i in range(depth):
            linear = nn.Linear(d, d_hidden)
            bound = 1 / d if i == 0 else math.sqrt(6 / d) / w0
            nn.init.uniform_(linear.weight, -bound, bound)
            layers += [linear, Sine(w0)]
            d = d_hidden
        super().__init__(*layers, nn.Linear(d, d_out))


def gradient(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


def laplace(y, x):
    g = gradient(y, x)
    return sum(torch.autograd.grad(g[..., i].sum(), x, create_graph=True)[0][..., i:i + 1] for i in range(x.shape[-1]))


def image(n=12):
    axis = np.linspace(-1, 1, n, dtype=np.float32)
    xx, yy = np.meshgrid(axis, axis, indexing='ij')
    values = np.sin(3 * xx) * np.cos(2 * yy)
    gx = 3 * np.cos(3 * xx) * np.cos(2 * yy)
    gy = -2 * np.sin(3 * xx) * np.sin(2 * yy)
    coords = np.stack([xx, yy], -1).reshape(-1, 2)
    return coords, values.reshape(-1, 1), np.stack([gx, gy], -1).reshape(-1, 2)


def fit(mode='both', steps=8):
    coords, values, slopes = (torch.from_numpy(a) for a in image())
    net = Siren()
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)
    recent = deque(maxlen=5)
    for step in range(steps):
        x = coords.clone().requires_grad_(True)
        y = net(x)
        terms = {}
        if mode in ('values', 'both'):
            terms['values'] = (y - values).pow(2).mean()
        if mode in ('slopes', 'both'):
            terms['slopes'] = (gradient(y, x) - slopes).pow(2).mean()
        loss = sum(terms.values())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        recent.append(loss.item())
    return net, np.mean(recent)


if __name__ == '__main__':
    torch.manual_seed(0)
    net, error = fit()
    probe = torch.rand(4, 2, requires_grad=True)
    curvature = laplace(net(probe), probe)
    print(error, curvature.detach().squeeze().tolist())
