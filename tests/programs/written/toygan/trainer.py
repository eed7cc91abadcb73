import copy

import torch

from .losses import hinge_d, hinge_g, r1_penalty


class Trainer:
    def __init__(self, generator, discriminator, lr=2e-3, r1_every=2, ema=0.95):
        self.G, self.D = generator, discriminator
        self.G_ema = copy.deepcopy(generator).eval().requires_grad_(False)
        self.opt_g = torch.optim.Adam(self.G.parameters(), lr=lr, betas=(0.0, 0.99))
        self.opt_d = torch.optim.Adam(self.D.parameters(), lr=lr, betas=(0.0, 0.99))
        self.r1_every, self.ema = r1_every, ema
        self.step_count = 0

    def _noise(self, n):
        return torch.randn(n, self.G.latent)

    def _d_step(self, real):
        with torch.no_grad():
            fake = self.G(self._noise(len(real)))
        loss = hinge_d(self.D(real), self.D(fake))
        total = loss
        if self.step_count % self.r1_every == 0:
            total = loss + 5.0 * r1_penalty(self.D, real.detach().clone())
        self.opt_d.zero_grad(set_to_none=True)
        total.backward()
        self.opt_d.step()
        return loss.item()

    def _g_step(self, n):
        self.D.requires_grad_(False)
        loss = hinge_g(self.D(self.G(self._noise(n))))
        self.opt_g.zero_grad(set_to_none=True)
        loss.backward()
        self.opt_g.step()
        self.D.requires_grad_(True)
        return loss.item()

    @torch.no_grad()
    def _average(self):
        for p, q in zip(self.G_ema.parameters(), self.G.parameters()):
            p.lerp_(q, 1 - self.ema)

    def step(self, real):
        row = {"d": self._d_step(real), "g": self._g_step(len(real))}
        self._average()
        self.step_count += 1
        return row
