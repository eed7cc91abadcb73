"""Soft actor-critic on a point that should reach the origin: twin critics, targets, learned temperature."""

import copy
from collections import deque
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Normal

random.seed(3)
torch.manual_seed(3)
STATE, ACTION = 4, 2


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = mlp(STATE, 32, 32)
        self.mean = nn.Linear(32, ACTION)
        self.log_std = nn.Linear(32, ACTION)

    def forward(self, state):
        h = F.relu(self.trunk(state))
        dist = Normal(self.mean(h), self.log_std(h).clamp(-5, 2).exp())
        raw = dist.rsample()
        action = torch.tanh(raw)
        log_prob = dist.log_prob(raw) - torch.log(1 - action.pow(2) + 1e-6)
        return action, log_prob.sum(-1)


class Critic(nn.Module):
    def __init__(self):
        super().__init__()
        self.q1 = mlp(STATE + ACTION, 32, 32, 1)
        self.q2 = mlp(STATE + ACTION, 32, 32, 1)

    def forward(self, state, action):
        x = torch.cat([state, action], -1)
        return self.q1(x).squeeze(-1), self.q2(x).squeeze(-1)


class World:
    def reset(self):
        self.state = torch.cat([torch.randn(2), torch.zeros(2)])
        self.time = 0
        return self.state

    def step(self, action):
        position, speed = self.state[:2], self.state[2:]
        speed = 0.8 * speed + 0.3 * action
        self.state = torch.cat([position + 0.3 * speed, speed])
        self.time += 1
        return self.state, -self.state[:2].pow(2).sum().item(), self.time >= 20


actor, critic = Actor(), Critic()
target = copy.deepcopy(critic)
for p in target.parameters():
    p.requires_grad = False
log_alpha = torch.zeros(1, requires_grad=True)
actor_opt = torch.optim.Adam(actor.parameters(), lr=3e-3)
critic_opt = torch.optim.Adam(critic.parameters(), lr=3e-3)
alpha_opt = torch.optim.Adam([log_alpha], lr=3e-3)
memory = deque(maxlen=500)
goal_entropy = -float(ACTION)


def update():
    rows = random.sample(memory, 32)
    s, a, r, s2, d = (torch.stack([torch.as_tensor(v, dtype=torch.float32) for v in column]) for column in zip(*rows))
    alpha = log_alpha.exp().detach()
    with torch.no_grad():
        a2, lp2 = actor(s2)
        t1, t2 = target(s2, a2)
        backup = r + 0.95 * (1 - d) * (torch.min(t1, t2) - alpha * lp2)
    q1, q2 = critic(s, a)
    critic_loss = F.mse_loss(q1, backup) + F.mse_loss(q2, backup)
    critic_opt.zero_grad()
    critic_loss.backward()
    critic_opt.step()

    new_action, log_prob = actor(s)
    actor_loss = (alpha * log_prob - torch.min(*critic(s, new_action))).mean()
    actor_opt.zero_grad()
    actor_loss.backward()
    actor_opt.step()

    alpha_loss = -(log_alpha * (log_prob + goal_entropy).detach()).mean()
    alpha_opt.zero_grad()
    alpha_loss.backward()
    alpha_opt.step()
    with torch.no_grad():
        for slow, fast in zip(target.parameters(), critic.parameters()):
            slow.mul_(0.98).add_(fast, alpha=0.02)
    return critic_loss.item(), actor_loss.item(), alpha.item()


world, scores, log = World(), [], []
for episode in range(5):
    state, done, score = world.reset(), False, 0.0
    while not done:
        with torch.no_grad():
            action, _ = actor(state)
        following, reward, done = world.step(action)
        memory.append((state, action, reward, following, float(done)))
        state, score = following, score + reward
        if len(memory) >= 64:
            log.append(update())
    scores.append(score)
print(f"score {sum(scores[-3:]) / 3:.2f} alpha {log[-1][2]:.3f} updates {len(log)}")
