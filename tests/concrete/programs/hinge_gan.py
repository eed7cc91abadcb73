import copy

import torch
from torch import nn

torch.manual_seed(1)


class Generator(nn.Module):
    def __init__(self, noise=8):
        super().__init__()
        self.fc = nn.Linear(noise, 32)
        self.norm = nn.BatchNorm1d(32)
        self.out = nn.Linear(32, 16)

    def forward(self, z):
        return torch.tanh(self.out(torch.relu(self.norm(self.fc(z)))))


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(
            nn.utils.parametrizations.spectral_norm(nn.Linear(16, 32)), nn.LeakyReLU(0.2), nn.Linear(32, 1)
        )

    def forward(self, x):
        return self.body(x).squeeze(1)


def real_batch(size=16):
    return torch.tanh(torch.randn(size, 16) * 0.3 + 0.5)


gen, critic = Generator(), Critic()
averaged = copy.deepcopy(gen).requires_grad_(False)
opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))
opt_c = torch.optim.Adam(critic.parameters(), lr=2e-3, betas=(0.0, 0.9))
log = []
for step in range(24):
    z = torch.randn(16, 8)
    fake = gen(z)
    loss_c = torch.relu(1 - critic(real_batch())).mean() + torch.relu(1 + critic(fake.detach())).mean()
    opt_c.zero_grad()
    loss_c.backward()
    opt_c.step()

    loss_g = -critic(fake).mean()
    opt_g.zero_grad()
    loss_g.backward()
    opt_g.step()

    with torch.no_grad():
        for slow, fast in zip(averaged.parameters(), gen.parameters()):
            slow.lerp_(fast, 0.01)
    log.append((loss_c.item(), loss_g.item()))

averaged.eval()
with torch.no_grad():
    for _ in range(4):
        samples = averaged(torch.randn(16, 8))
print(len(log), samples.shape)
