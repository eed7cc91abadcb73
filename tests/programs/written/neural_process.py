"""Conditional and latent neural processes on sine curves."""
from dataclasses import dataclass
from typing import NamedTuple, Optional

import torch
import torch.nn as nn
from torch.distributions import Normal, kl_divergence


class Task(NamedTuple):
    x_context: torch.Tensor
    y_context: torch.Tensor
    x_target: torch.Tensor
    y_target: torch.Tensor


@dataclass
class Config:
    d_latent: int = 8
    d_hidden: int = 32
    steps: int = 6
    beta: float = 0.1
    lr: float = 2e-3


def sample_task(batch=8, n_context=5, n_target=12):
    amplitude = torch.rand(batch, 1, 1) + 0.5
    phase = torch.rand(batch, 1, 1) * 3
    x = torch.rand(batch, n_target, 1) * 4 - 2
    y = amplitude * torch.sin(x + phase)
    return Task(x[:, :n_context], y[:, :n_context], x, y)


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class NeuralProcess(nn.Module):
    def __init__(self, cfg: Config):
        super().__init__()
        h, z = cfg.d_hidden, cfg.d_latent
        self.encoder = mlp(2, h, h)
        self.to_latent = nn.Linear(h, 2 * z)
        self.decoder = mlp(1 + z, h, h, 2)

    def latent(self, x, y):
        r = self.encoder(torch.cat([x, y], -1)).mean(1)
        mean, raw = self.to_latent(r).chunk(2, -1)
        return Normal(mean, 0.1 + 0.9 * torch.sigmoid(raw))

    def decode(self, z, x):
        z = z.unsqueeze(1).expand(-1, x.size(1), -1)
        mean, raw = self.decoder(torch.cat([x, z], -1)).chunk(2, -1)
        return Normal(mean, 0.1 + 0.9 * nn.functional.softplus(raw))

    def forward(self, x_context, y_context, x_target, y_target: Optional[torch.Tensor] = None):
        prior = self.latent(x_context, y_context)
        if y_target is None:
            return self.decode(prior.mean, x_target), None
        posterior = self.latent(x_target, y_target)
        return self.decode(posterior.rsample(), x_target), kl_divergence(posterior, prior).sum(-1)


def loss_fn(model, task, beta):
    prediction, kl = model(*task)
    log_lik = prediction.log_prob(task.y_target).mean((1, 2))
    return (beta * kl - log_lik).mean(), {'ll': log_lik.mean().item(), 'kl': kl.mean().item()}


def train(cfg):
    torch.manual_seed(0)
    model = NeuralProcess(cfg)
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg.lr)
    history = []
    for _ in range(cfg.steps):
        loss, log = loss_fn(model, sample_task(), cfg.beta)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        history.append({'loss': loss.item(), **log})
    return model, history


if __name__ == '__main__':
    model, history = train(Config())
    print(history[-1])
    model.eval()
    with torch.inference_mode():
        task = sample_task()
        prediction, _ = model(*task[:3])
        print('mse', (prediction.mean - task.y_target).pow(2).mean().item())
