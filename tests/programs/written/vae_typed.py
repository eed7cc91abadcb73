"""A variational autoencoder on toy images, with annotations throughout."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, TensorDataset


@dataclass
class Output:
    logits: Tensor
    mean: Tensor
    log_var: Tensor


class Encoder(nn.Module):
    def __init__(self, width: int, latent: int) -> None:
        super().__init__()
        self.body = nn.Sequential(nn.Linear(64, width), nn.SiLU())
        self.mean = nn.Linear(width, latent)
        self.log_var = nn.Linear(width, latent)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = self.body(x)
        return self.mean(h), self.log_var(h)


class VAE(nn.Module):
    def __init__(self, width: int = 32, latent: int = 4) -> None:
        super().__init__()
        self.latent = latent
        self.encoder = Encoder(width, latent)
        self.decoder = nn.Sequential(nn.Linear(latent, width), nn.SiLU(), nn.Linear(width, 64))

    @staticmethod
    def reparameterize(mean: Tensor, log_var: Tensor) -> Tensor:
        std = torch.exp(0.5 * log_var)
        return mean + std * torch.randn_like(std)

    def forward(self, x: Tensor) -> Output:
        mean, log_var = self.encoder(x.flatten(1))
        z = self.reparameterize(mean, log_var)
        return Output(self.decoder(z), mean, log_var)

    @torch.no_grad()
    def sample(self, n: int) -> Tensor:
        z = torch.randn(n, self.latent)
        return torch.sigmoid(self.decoder(z)).view(n, 1, 8, 8)


def elbo_terms(out: Output, x: Tensor) -> tuple[Tensor, Tensor]:
    target = x.flatten(1)
    reconstruction = F.binary_cross_entropy_with_logits(out.logits, target, reduction="none").sum(1).mean()
    kl = -0.5 * (1 + out.log_var - out.mean.pow(2) - out.log_var.exp()).sum(1).mean()
    return reconstruction, kl


def train(model: VAE, loader: DataLoader, epochs: int = 3, beta_max: float = 1.0) -> list[float]:
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    curve: list[float] = []
    for epoch in range(epochs):
        beta = beta_max * min(1.0, (epoch + 1) / 2)
        total = 0.0
        for (x,) in loader:
            out = model(x)
            reconstruction, kl = elbo_terms(out, x)
            loss = reconstruction + beta * kl
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            total += loss.detach() * x.size(0)
        curve.append(float(total) / len(loader.dataset))
    return curve


if __name__ == "__main__":
    torch.manual_seed(0)
    images = (torch.rand(64, 1, 8, 8) > 0.7).float()
    vae = VAE()
    losses = train(vae, DataLoader(TensorDataset(images), batch_size=16, shuffle=True))
    print([round(value, 3) for value in losses], vae.sample(3).shape)
