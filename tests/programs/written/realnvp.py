"""RealNVP on two moons, in the style of a short tutorial."""
import math

import numpy as np
import torch
from torch import distributions, nn

torch.manual_seed(0)
np.random.seed(0)


def moons(n):
    t = np.random.rand(n) * np.pi
    side = np.random.randint(0, 2, n)
    x = np.where(side, 1 - np.cos(t), np.cos(t))
    y = np.where(side, 0.5 - np.sin(t), np.sin(t))
    return np.stack([x, y], 1).astype(np.float32) + 0.05 * np.random.randn(n, 2).astype(np.float32)


class RealNVP(nn.Module):
    def __init__(self, nets, nett, mask, prior):
        super(RealNVP, self).__init__()
        self.prior = prior
        self.mask = nn.Parameter(mask, requires_grad=False)
        self.t = torch.nn.ModuleList([nett() for _ in range(len(mask))])
        self.s = torch.nn.ModuleList([nets() for _ in range(len(mask))])

    def g(self, z):
        x = z
        for i in range(len(self.t)):
            x_ = x * self.mask[i]
            s = self.s[i](x_) * (1 - self.mask[i])
            t = self.t[i](x_) * (1 - self.mask[i])
            x = x_ + (1 - self.mask[i]) * (x * torch.exp(s) + t)
        return x

    def f(self, x):
        log_det_J, z = x.new_zeros(x.shape[0]), x
        for i in reversed(range(len(self.t))):
            z_ = self.mask[i] * z
            s = self.s[i](z_) * (1 - self.mask[i])
            t = self.t[i](z_) * (1 - self.mask[i])
            z = (1 - self.mask[i]) * (z - t) * torch.exp(-s) + z_
            log_det_J -= s.sum(dim=1)
        return z, log_det_J

    def log_prob(self, x):
        z, logp = self.f(x)
        return self.prior.log_prob(z) + logp

    def sample(self, batchSize):
        z = self.prior.sample((batchSize,))
        logp = self.prior.log_prob(z)
        return self.g(z), logp


nets = lambda: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 2), nn.Tanh())
nett = lambda: nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(), nn.Linear(16, 2))
masks = torch.from_numpy(np.array([[0, 1], [1, 0]] * 2).astype(np.float32))
prior = distributions.MultivariateNormal(torch.zeros(2), torch.eye(2))
flow = RealNVP(nets, nett, masks, prior)
optimizer = torch.optim.Adam([p for p in flow.parameters() if p.requires_grad == True], lr=1e-3)

bits = []
for t in range(6):
    loss = -flow.log_prob(torch.from_numpy(moons(64))).mean()
    optimizer.zero_grad()
    loss.backward(retain_graph=False)
    optimizer.step()
    bits.append(loss.item() / math.log(2) / 2)
    if t % 2 == 0:
        print('iter %s:' % t, 'bits per dim = %.3f' % bits[-1])

x = flow.sample(16)[0].detach().numpy()
z = flow.f(torch.from_numpy(moons(16)))[0].detach().numpy()
print(x.mean(axis=0), z.std(axis=0), np.mean(bits))
