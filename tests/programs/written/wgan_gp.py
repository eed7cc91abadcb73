"""WGAN-GP on a ring of gaussians, everything in functions and a config dict."""
import math

import torch
from torch import autograd, nn, optim

CONFIG = dict(latent=4, hidden=32, n_critic=3, gp_lambda=10.0, steps=6, batch=32, lr=1e-4)


def make_generator(cfg):
    return nn.Sequential(
        nn.Linear(cfg["latent"], cfg["hidden"]), nn.ReLU(inplace=True),
        nn.Linear(cfg["hidden"], cfg["hidden"]), nn.ReLU(inplace=True),
        nn.Linear(cfg["hidden"], 2),
    )


def make_critic(cfg):
    return nn.Sequential(
        nn.Linear(2, cfg["hidden"]), nn.LeakyReLU(0.2),
        nn.Linear(cfg["hidden"], cfg["hidden"]), nn.LeakyReLU(0.2),
        nn.Linear(cfg["hidden"], 1),
    )


def ring(n):
    angle = torch.randint(0, 8, (n,)).float() * (2 * math.pi / 8)
    return torch.stack([angle.cos(), angle.sin()], dim=1) + 0.02 * torch.randn(n, 2)


def gradient_penalty(critic, real, fake):
    alpha = torch.rand(real.size(0), 1).expand_as(real)
    interpolates = alpha * real + (1 - alpha) * fake
    interpolates.requires_grad_(True)
    scores = critic(interpolates)
    gradients = autograd.grad(
        outputs=scores,
        inputs=interpolates,
        grad_outputs=torch.ones_like(scores),
        create_graph=True,
        retain_graph=True,
        only_inputs=True,
    )[0]
    slopes = (gradients.pow(2).sum(dim=1) + 1e-12).sqrt()
    return ((slopes - 1) ** 2).mean()


def critic_step(critic, generator, opt, cfg):
    real = ring(cfg["batch"])
    z = torch.randn(cfg["batch"], cfg["latent"])
    with torch.no_grad():
        fake = generator(z)
    opt.zero_grad()
    wasserstein = critic(real).mean() - critic(fake).mean()
    gp = gradient_penalty(critic, real, fake)
    loss = -wasserstein + cfg["gp_lambda"] * gp
    loss.backward()
    opt.step()
    return wasserstein.item(), gp.item()


def generator_step(critic, generator, opt, cfg):
    for p in critic.parameters():
        p.requires_grad_(False)
    opt.zero_grad()
    z = torch.randn(cfg["batch"], cfg["latent"])
    fake = generator(z)
    loss = -critic(fake).mean()
    loss.backward()
    opt.step()
    for p in critic.parameters():
        p.requires_grad_(True)
    return loss.item()


def run(cfg):
    torch.manual_seed(3)
    generator, critic = make_generator(cfg), make_critic(cfg)
    opt_g = optim.Adam(generator.parameters(), lr=cfg["lr"], betas=(0.0, 0.9))
    opt_c = optim.Adam(critic.parameters(), lr=cfg["lr"], betas=(0.0, 0.9))
    history = []
    for step in range(cfg["steps"]):
        for _ in range(cfg["n_critic"]):
            w, gp = critic_step(critic, generator, opt_c, cfg)
        g = generator_step(critic, generator, opt_g, cfg)
        history.append((w, gp, g))
    return generator, critic, history


generator, critic, history = run(CONFIG)
print("final wasserstein estimate", history[-1][0])
