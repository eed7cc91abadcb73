"""Denoising diffusion on two dimensional points."""
import copy
import math
from functools import partial

import torch
from torch import nn
import torch.nn.functional as F


def exists(x):
    return x is not None


def default(val, d):
    return val if exists(val) else d


def extract(a, t, x_shape):
    b = t.shape[0]
    return a.gather(-1, t).reshape(b, *((1,) * (len(x_shape) - 1)))


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.dim = dim

    def forward(self, t):
        half = self.dim // 2
        freqs = torch.exp(torch.arange(half, device=t.device) * -(math.log(1000) / (half - 1)))
        args = t[:, None].float() * freqs[None, :]
        return torch.cat((args.sin(), args.cos()), dim=-1)


class Denoiser(nn.Module):
    def __init__(self, dim=32):
        super().__init__()
        self.time = nn.Sequential(TimeEmbedding(dim), nn.Linear(dim, dim), nn.GELU())
        self.inp = nn.Linear(2, dim)
        self.blocks = nn.ModuleList([nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, dim), nn.GELU()) for _ in range(2)])
        self.out = nn.Linear(dim, 2)

    def forward(self, x, t):
        h = self.inp(x)
        emb = self.time(t)
        for block in self.blocks:
            h = h + block(h + emb)
        return self.out(h)


class GaussianDiffusion(nn.Module):
    def __init__(self, denoise_fn, timesteps=20):
        super().__init__()
        self.denoise_fn = denoise_fn
        self.num_timesteps = timesteps
        betas = torch.linspace(1e-4, 0.2, timesteps)
        alphas = 1. - betas
        alphas_cumprod = torch.cumprod(alphas, dim=0)
        register_buffer = partial(self.register_buffer, persistent=False)
        register_buffer('betas', betas)
        register_buffer('sqrt_alphas_cumprod', alphas_cumprod.sqrt())
        register_buffer('sqrt_one_minus', (1. - alphas_cumprod).sqrt())
        register_buffer('sqrt_recip_alphas', alphas.rsqrt())

    def q_sample(self, x_start, t, noise=None):
        noise = default(noise, torch.randn_like(x_start))
        return extract(self.sqrt_alphas_cumprod, t, x_start.shape) * x_start + \
            extract(self.sqrt_one_minus, t, x_start.shape) * noise

    def forward(self, x):
        t = torch.randint(0, self.num_timesteps, (x.shape[0],)).long()
        noise = torch.randn_like(x)
        return F.mse_loss(self.denoise_fn(self.q_sample(x, t, noise), t), noise)

    @torch.no_grad()
    def sample(self, n):
        x = torch.randn(n, 2)
        for i in reversed(range(self.num_timesteps)):
            t = torch.full((n,), i, dtype=torch.long)
            eps = self.denoise_fn(x, t)
            x = self.sqrt_recip_alphas[i] * (x - self.betas[i] / self.sqrt_one_minus[i] * eps)
            if i > 0:
                x += self.betas[i].sqrt() * torch.randn_like(x)
        return x


class EMA:
    def __init__(self, beta):
        self.beta = beta

    def update_model_average(self, ma_model, current_model):
        for current_params, ma_params in zip(current_model.parameters(), ma_model.parameters()):
            old_weight, up_weight = ma_params.data, current_params.data
            ma_params.data = old_weight * self.beta + (1 - self.beta) * up_weight


torch.manual_seed(0)
diffusion = GaussianDiffusion(Denoiser())
ema_model, ema = copy.deepcopy(diffusion), EMA(0.9)
opt = torch.optim.Adam(diffusion.parameters(), lr=2e-3)
points = torch.randn(128, 2) * 0.1 + torch.tensor([1.0, -1.0])
gradient_accumulate_every = 2
for step in range(8):
    for i in range(gradient_accumulate_every):
        loss = diffusion(points[torch.randint(0, 128, (32,))])
        (loss / gradient_accumulate_every).backward()
    print(f'{step}: {loss.item()}')
    opt.step()
    opt.zero_grad()
    ema.update_model_average(ema_model, diffusion)
print(ema_model.sample(4))
