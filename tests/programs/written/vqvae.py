"""VQ-VAE with a straight-through estimator and codebook updates by exponential moving averages."""
from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn, optim


class VectorQuantizer(nn.Module):
    def __init__(self, n_codes: int, dim: int, beta: float = 0.25, decay: float | None = None) -> None:
        super().__init__()
        self.n_codes, self.dim, self.beta, self.decay = n_codes, dim, beta, decay
        self.embedding = nn.Embedding(n_codes, dim)
        self.embedding.weight.data.uniform_(-1 / n_codes, 1 / n_codes)
        if decay is not None:
            self.embedding.weight.requires_grad = False
            self.register_buffer("cluster_size", torch.zeros(n_codes))
            self.register_buffer("embed_avg", self.embedding.weight.detach().clone())

    def forward(self, latents: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        flat = latents.reshape(-1, self.dim)
        dist = (
            flat.pow(2).sum(1, keepdim=True)
            + self.embedding.weight.pow(2).sum(1)
            - 2 * flat @ self.embedding.weight.t()
        )
        indices = dist.argmin(dim=1)
        quantized = self.embedding(indices).view_as(latents)
        if self.decay is not None and self.training:
            self._update_codebook(flat.detach(), indices)
        commitment = F.mse_loss(latents, quantized.detach())
        loss = self.beta * commitment
        if self.decay is None:
            loss = loss + F.mse_loss(quantized, latents.detach())
        # gradients skip the lookup
        quantized = latents + (quantized - latents).detach()
        return quantized, loss, indices

    @torch.no_grad()
    def _update_codebook(self, flat: Tensor, indices: Tensor) -> None:
        onehot = F.one_hot(indices, self.n_codes).type_as(flat)
        self.cluster_size.mul_(self.decay).add_(onehot.sum(0), alpha=1 - self.decay)
        self.embed_avg.mul_(self.decay).add_(onehot.t() @ flat, alpha=1 - self.decay)
        n = self.cluster_size.sum()
        smoothed = (self.cluster_size + 1e-5) / (n + self.n_codes * 1e-5) * n
        self.embedding.weight.copy_(self.embed_avg / smoothed.unsqueeze(1))


class VQVAE(nn.Module):
    def __init__(self, decay: float | None = None) -> None:
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 8))
        self.quantizer = VectorQuantizer(12, 4, decay=decay)
        self.decoder = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 16))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        z = self.encoder(x).view(-1, 2, 4)
        quantized, vq_loss, indices = self.quantizer(z)
        return self.decoder(quantized.flatten(1)), vq_loss, indices


def train(model: VQVAE, data: Tensor, epochs: int = 2) -> list[dict[str, float]]:
    optimizer = optim.Adam((p for p in model.parameters() if p.requires_grad), lr=2e-3)
    rows = []
    for _ in range(epochs):
        for x in data.split(16):
            reconstruction, vq_loss, indices = model(x)
            mse = F.mse_loss(reconstruction, x)
            loss = mse + vq_loss
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            usage = torch.bincount(indices, minlength=12).float()
            perplexity = torch.exp(-(usage / usage.sum() * (usage / usage.sum() + 1e-10).log()).sum())
            rows.append({"mse": mse.item(), "vq": vq_loss.item(), "perplexity": perplexity.item()})
    return rows


if __name__ == "__main__":
    torch.manual_seed(0)
    data = torch.sin(torch.rand(64, 1) * 6 + torch.linspace(0, 6, 16))
    gradient_model, average_model = VQVAE(), VQVAE(decay=0.9)
    print(train(gradient_model, data)[-1])
    print(train(average_model, data)[-1])
