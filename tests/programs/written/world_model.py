"""A latent world model: learn dynamics from random play, then plan by backpropagating through the model."""
from collections import deque
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import distributions as D


@dataclass
class Args:
    latent: int = 6
    horizon: int = 5
    model_lr: float = 3e-3
    plan_iters: int = 6
    plan_lr: float = 0.1
    kl_free: float = 0.5
    seed: int = 3


class Reacher:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.pos = self.rng.normal(size=2)
        self.goal = np.zeros(2)
        return self.pos.astype(np.float32)

    def step(self, action):
        self.pos = self.pos + 0.3 * np.tanh(action)
        return self.pos.astype(np.float32), -float(np.abs(self.pos - self.goal).sum())


class RSSM(nn.Module):
    def __init__(self, args, obs=2, act=2):
        super().__init__()
        self.args = args
        self.gru = nn.GRUCell(args.latent + act, args.latent)
        self.prior = nn.Linear(args.latent, 2 * args.latent)
        self.posterior = nn.Linear(args.latent + obs, 2 * args.latent)
        self.decoder = nn.Linear(2 * args.latent, obs)
        self.reward = nn.Linear(2 * args.latent, 1)

    @staticmethod
    def gaussian(params):
        mean, raw = params.chunk(2, dim=-1)
        return D.Independent(D.Normal(mean, F.softplus(raw) + 0.1), 1)

    def initial(self, batch):
        return torch.zeros(batch, self.args.latent), torch.zeros(batch, self.args.latent)

    def imagine(self, h, z, action):
        h = self.gru(torch.cat([z, action], -1), h)
        prior = self.gaussian(self.prior(h))
        return h, prior

    def loss(self, obs, actions, rewards):
        h, z = self.initial(obs.size(1))
        total = 0.0
        for t in range(obs.size(0)):
            h, prior = self.imagine(h, z, actions[t])
            posterior = self.gaussian(self.posterior(torch.cat([h, obs[t]], -1)))
            z = posterior.rsample()
            feature = torch.cat([h, z], -1)
            kl = D.kl_divergence(posterior, prior).clamp(min=self.args.kl_free).mean()
            reconstruction = F.mse_loss(self.decoder(feature), obs[t])
            reward_loss = F.mse_loss(self.reward(feature).squeeze(-1), rewards[t])
            total = total + reconstruction + reward_loss + 0.1 * kl
        return total / obs.size(0)


def plan(model, h, z, args):
    """Gradient ascent on a sequence of actions; the model's parameters stay as they are."""
    actions = torch.zeros(args.horizon, 1, 2, requires_grad=True)
    optimizer = torch.optim.Adam([actions], lr=args.plan_lr)
    for _ in range(args.plan_iters):
        hh, zz = h.detach(), z.detach()
        value = 0.0
        for action in actions:
            hh, prior = model.imagine(hh, zz, torch.tanh(action))
            zz = prior.mean
            value = value + model.reward(torch.cat([hh, zz], -1)).sum()
        optimizer.zero_grad()
        (-value).backward()
        optimizer.step()
    return torch.tanh(actions[0, 0]).detach().numpy()


def collect(env, length, policy):
    obs, rows = env.reset(), []
    for _ in range(length):
        action = policy(obs)
        obs, reward = env.step(action)
        rows.append((obs, np.asarray(action, dtype=np.float32), np.float32(reward)))
    return tuple(torch.from_numpy(np.stack(part)) for part in zip(*rows))


args = Args()
torch.manual_seed(args.seed)
env, model, buffer = Reacher(args.seed), RSSM(args), deque(maxlen=50)
optimizer = torch.optim.Adam(model.parameters(), lr=args.model_lr)
for _ in range(12):
    buffer.append(collect(env, 8, lambda obs: env.rng.normal(size=2)))
for epoch in range(5):
    batch = [torch.stack(part, dim=1) for part in zip(*buffer)]
    loss = model.loss(*batch)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
    optimizer.step()
    print(epoch, loss.item())

h, z = model.initial(1)
obs, total = env.reset(), 0.0
for t in range(3):
    action = plan(model, h, z, args)
    obs, reward = env.step(action)
    with torch.no_grad():
        h, _ = model.imagine(h, z, torch.from_numpy(action).unsqueeze(0))
        z = model.gaussian(model.posterior(torch.cat([h, torch.from_numpy(obs).unsqueeze(0)], -1))).mean
    total += reward
print('return', total)
