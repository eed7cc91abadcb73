"""Uncertainty three ways: MC dropout, a deep ensemble under vmap, and a heteroscedastic head."""
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, stack_module_state, vmap

torch.manual_seed(0)


def toy(n=60):
    x = torch.rand(n, 1) * 6 - 3
    noise = 0.05 + 0.2 * torch.sigmoid(x)
    return x, torch.sin(x) + noise * torch.randn_like(x)


class HeteroscedasticMLP(nn.Module):
    def __init__(self, hidden=20, p=0.1):
        super().__init__()
        self.fc1 = nn.Linear(1, hidden)
        self.fc2 = nn.Linear(hidden, hidden)
        self.mean = nn.Linear(hidden, 1)
        self.raw_std = nn.Linear(hidden, 1)
        self.p = p

    def forward(self, x, sample=False):
        h = torch.tanh(self.fc1(x))
        h = F.dropout(h, self.p, training=self.training or sample)
        h = torch.tanh(self.fc2(h))
        return self.mean(h), F.softplus(self.raw_std(h)) + 1e-3


def gaussian_nll(mean, std, target):
    return (0.5 * ((target - mean) / std) ** 2 + std.log() + 0.5 * math.log(2 * math.pi)).mean()


def fit(model, x, y, epochs=4, lr=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    model.train()
    for epoch in range(epochs):
        order = torch.randperm(len(x))
        for start in range(0, len(x), 20):
            index = order[start:start + 20]
            mean, std = model(x[index])
            nll = gaussian_nll(mean, std, y[index])
            optimizer.zero_grad()
            nll.backward()
            optimizer.step()
    return model


def mc_dropout(model, x, n=8):
    model.eval()
    with torch.no_grad():
        draws = torch.stack([model(x, sample=True)[0] for _ in range(n)])
    return draws.mean(0), draws.std(0)


def ensemble_predict(models, x):
    for m in models:
        m.eval()
    params, buffers = stack_module_state(models)
    base = copy.deepcopy(models[0]).to("meta")

    def single(p, b, inputs):
        return functional_call(base, (p, b), (inputs,))

    with torch.no_grad():
        means, stds = vmap(single, (0, 0, None))(params, buffers, x)
    mean = means.mean(0)
    variance = (stds ** 2 + means ** 2).mean(0) - mean ** 2
    return mean, variance.clamp(min=0).sqrt()


def calibrate(std, error, steps=20):
    """One temperature for all standard deviations."""
    log_t = torch.zeros(1, requires_grad=True)
    optimizer = torch.optim.SGD([log_t], lr=0.1)
    for _ in range(steps):
        loss = gaussian_nll(error, std * log_t.exp(), torch.zeros_like(error))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return log_t.exp().item()


x, y = toy()
models = [fit(HeteroscedasticMLP(), x, y) for _ in range(3)]
grid = torch.linspace(-4, 4, 9).unsqueeze(1)
mean, spread = mc_dropout(models[0], grid)
ens_mean, ens_std = ensemble_predict(models, x)
temperature = calibrate(ens_std, ens_mean - y)
print(spread.squeeze(1).tolist()[:3], ens_std.mean().item(), temperature)
