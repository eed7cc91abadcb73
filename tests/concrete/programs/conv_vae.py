import copy

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(2)


class Vae(nn.Module):
    def __init__(self, latent=4):
        super().__init__()
        self.encoder = nn.Sequential(nn.Conv2d(1, 8, 3, stride=2, padding=1), nn.ReLU(), nn.Flatten())
        self.mu = nn.Linear(8 * 16, latent)
        self.logvar = nn.Linear(8 * 16, latent)
        self.up = nn.Linear(latent, 8 * 16)
        self.decoder = nn.ConvTranspose2d(8, 1, 4, stride=2, padding=1)

    def reparameterize(self, mu, logvar):
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def forward(self, x):
        h = self.encoder(x)
        mu, logvar = self.mu(h), self.logvar(h)
        z = self.reparameterize(mu, logvar)
        h = torch.relu(self.up(z)).view(-1, 8, 4, 4)
        return torch.sigmoid(self.decoder(h)), mu, logvar


def loss_of(output, x, mu, logvar, beta):
    reconstruction = F.binary_cross_entropy(output, x, reduction="sum") / x.size(0)
    kl = -0.5 * torch.sum(1 + logvar - mu.pow(2) - logvar.exp()) / x.size(0)
    return reconstruction + beta * kl


data = torch.rand(64, 1, 8, 8)
train, val = data[:48], data[48:]
model = Vae()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
best, best_state = float("inf"), None
for epoch in range(6):
    model.train()
    beta = min(1.0, (epoch + 1) / 4)
    for x in train.split(12):
        optimizer.zero_grad()
        output, mu, logvar = model(x)
        loss = loss_of(output, x, mu, logvar, beta)
        loss.backward()
        optimizer.step()
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x in val.split(4):
            output, mu, logvar = model(x)
            total += loss_of(output, x, mu, logvar, 1.0).item()
    if total < best:
        best, best_state = total, copy.deepcopy(model.state_dict())
model.load_state_dict(best_state)
print(best)
