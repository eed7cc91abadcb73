"""Soft actor-critic on a one dimensional tracking task."""
import copy
import itertools
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim import Adam

LOG_STD_MIN, LOG_STD_MAX = -20, 2


def mlp(sizes, activation=nn.ReLU):
    layers = []
    for i in range(len(sizes) - 1):
        layers.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i < len(sizes) - 2:
            layers.append(activation())
    return nn.Sequential(*layers)


class Actor(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.net = mlp([obs_dim, 16, 16])
        self.mu = nn.Linear(16, act_dim)
        self.log_std = nn.Linear(16, act_dim)

    def forward(self, obs, deterministic=False):
        h = F.relu(self.net(obs))
        mu = self.mu(h)
        std = self.log_std(h).clamp(LOG_STD_MIN, LOG_STD_MAX).exp()
        dist = torch.distributions.Normal(mu, std)
        u = mu if deterministic else dist.rsample()
        logp = dist.log_prob(u).sum(axis=-1)
        logp = logp - (2 * (np.log(2) - u - F.softplus(-2 * u))).sum(axis=1)
        return torch.tanh(u), logp


class Critic(nn.Module):
    def __init__(self, obs_dim, act_dim):
        super().__init__()
        self.q = mlp([obs_dim + act_dim, 16, 16, 1])

    def forward(self, obs, act):
        return self.q(torch.cat([obs, act], dim=-1)).squeeze(-1)


class SAC:
    def __init__(self, obs_dim=2, act_dim=1, gamma=0.98, polyak=0.99):
        self.gamma, self.polyak = gamma, polyak
        self.actor = Actor(obs_dim, act_dim)
        self.q1, self.q2 = Critic(obs_dim, act_dim), Critic(obs_dim, act_dim)
        self.q1_targ, self.q2_targ = copy.deepcopy(self.q1), copy.deepcopy(self.q2)
        for p in itertools.chain(self.q1_targ.parameters(), self.q2_targ.parameters()):
            p.requires_grad = False
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.target_entropy = -float(act_dim)
        self.pi_opt = Adam(self.actor.parameters(), lr=1e-3)
        self.q_opt = Adam(itertools.chain(self.q1.parameters(), self.q2.parameters()), lr=1e-3)
        self.alpha_opt = Adam([self.log_alpha], lr=1e-3)

    def act(self, o):
        with torch.no_grad():
            a, _ = self.actor(torch.as_tensor(o, dtype=torch.float32).unsqueeze(0))
        return a.numpy()[0]

    def update(self, o, a, r, o2):
        alpha = self.log_alpha.exp().detach()
        with torch.no_grad():
            a2, logp_a2 = self.actor(o2)
            q_next = torch.min(self.q1_targ(o2, a2), self.q2_targ(o2, a2))
            backup = r + self.gamma * (q_next - alpha * logp_a2)
        loss_q = F.mse_loss(self.q1(o, a), backup) + F.mse_loss(self.q2(o, a), backup)
        self.q_opt.zero_grad()
        loss_q.backward()
        self.q_opt.step()

        pi, logp = self.actor(o)
        q_pi = torch.min(self.q1(o, pi), self.q2(o, pi))
        loss_pi = (alpha * logp - q_pi).mean()
        self.pi_opt.zero_grad()
        loss_pi.backward()
        self.pi_opt.step()

        loss_alpha = -(self.log_alpha * (logp.detach() + self.target_entropy)).mean()
        self.alpha_opt.zero_grad()
        loss_alpha.backward()
        self.alpha_opt.step()

        with torch.no_grad():
            for p, p_targ in zip(self.q1.parameters(), self.q1_targ.parameters()):
                p_targ.data.mul_(self.polyak)
                p_targ.data.add_((1 - self.polyak) * p.data)
            for p, p_targ in zip(self.q2.parameters(), self.q2_targ.parameters()):
                p_targ.data.mul_(self.polyak)
                p_targ.data.add_((1 - self.polyak) * p.data)
        return loss_q.item(), loss_pi.item()


def main():
    torch.manual_seed(0)
    agent, replay = SAC(), []
    o = np.zeros(2, dtype=np.float32)
    for t in range(40):
        a = agent.act(o)
        o2 = np.array([o[0] + 0.1 * float(a[0]), np.sin(t / 5)], dtype=np.float32)
        replay.append((o, a, -abs(o2[0] - o2[1]), o2))
        o = o2
        if len(replay) >= 16:
            batch = random.sample(replay, 16)
            cols = [torch.as_tensor(np.array(c), dtype=torch.float32) for c in zip(*batch)]
            losses = agent.update(*cols)
    print(losses)


main()
