"""BiGAN: encoder and generator against a discriminator of pairs, with label noise and two optimizers."""
import itertools

import torch
from torch import nn


class Pair(nn.Module):
    def __init__(self, d_x, d_z):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(d_x + d_z, 24), nn.LeakyReLU(0.2), nn.Linear(24, 1))

    def forward(self, x, z):
        return self.net(torch.cat([x, z], dim=1)).squeeze(1)


class BiGAN:
    def __init__(self, d_x=4, d_z=2):
        self.d_z = d_z
        self.encoder = nn.Sequential(nn.Linear(d_x, 16), nn.ReLU(), nn.Linear(16, d_z))
        self.generator = nn.Sequential(nn.Linear(d_z, 16), nn.ReLU(), nn.Linear(16, d_x))
        self.critic = Pair(d_x, d_z)
        self.opt_ge = torch.optim.Adam(itertools.chain(self.encoder.parameters(), self.generator.parameters()), 1e-3)
        self.opt_d = torch.optim.Adam(self.critic.parameters(), 1e-3)
        self.bce = nn.BCEWithLogitsLoss()
        self.log = []

    def update(self, x):
        z = torch.randn(len(x), self.d_z)
        fake, code = self.generator(z), self.encoder(x)
        real_score = self.critic(x, code.detach())
        fake_score = self.critic(fake.detach(), z)
        d_loss = self.bce(real_score, torch.full_like(real_score, 0.9)) + self.bce(fake_score, torch.zeros_like(fake_score))
        self.opt_d.zero_grad()
        d_loss.backward()
        self.opt_d.step()

        real_score, fake_score = self.critic(x, code), self.critic(fake, z)
        ge_loss = self.bce(real_score, torch.zeros_like(real_score)) + self.bce(fake_score, torch.ones_like(fake_score))
        self.opt_ge.zero_grad()
        ge_loss.backward()
        self.opt_ge.step()
        self.log.append((d_loss.item(), ge_loss.item()))

    @torch.inference_mode()
    def reconstruct(self, x):
        return self.generator(self.encoder(x))


def main():
    torch.manual_seed(0)
    data = torch.randn(96, 2) @ torch.randn(2, 4)
    gan = BiGAN()
    for epoch in range(3):
        for x in data[torch.randperm(96)].split(24):
            gan.update(x)
    print(gan.log[-1], (gan.reconstruct(data) - data).pow(2).mean().item())


if __name__ == "__main__":
    main()
