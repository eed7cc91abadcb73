import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def collect(n=200):
    """A dataset of a random behaviour policy on a line world."""
    random.seed(3)
    data, s = [], 0.0
    for _ in range(n):
        a = random.choice((0, 1, 2))
        s2 = max(-2.0, min(2.0, s + (a - 1) * 0.5 + random.gauss(0, 0.05)))
        data.append((s, a, -abs(s2 - 1.0), s2, float(abs(s2) >= 2.0)))
        s = 0.0 if abs(s2) >= 2.0 else s2
    return data


class QNet(nn.Module):
    def __init__(self, n_actions=3, hidden=24):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(1, hidden), nn.ReLU())
        self.value, self.advantage = nn.Linear(hidden, 1), nn.Linear(hidden, n_actions)

    def forward(self, s):
        h = self.trunk(s)
        a = self.advantage(h)
        return self.value(h) + a - a.mean(1, keepdim=True)


class CQL:
    def __init__(self, alpha=1.0, gamma=0.95, tau=0.05, lr=1e-3):
        self.q = QNet()
        self.target = copy.deepcopy(self.q).requires_grad_(False)
        self.log_alpha = torch.zeros(1, requires_grad=True)
        self.gamma, self.tau, self.budget = gamma, tau, 0.5
        self.optimizer = torch.optim.Adam(self.q.parameters(), lr=lr)
        self.alpha_optimizer = torch.optim.Adam([self.log_alpha], lr=lr)

    def update(self, batch):
        s, a, r, s2, done = (torch.tensor(column, dtype=torch.float32) for column in zip(*batch))
        s, s2, a = s[:, None], s2[:, None], a.long()
        q = self.q(s)
        taken = q.gather(1, a[:, None]).squeeze(1)
        with torch.no_grad():
            best = self.q(s2).argmax(1, keepdim=True)
            goal = r + self.gamma * (1 - done) * self.target(s2).gather(1, best).squeeze(1)
        gap = (torch.logsumexp(q, dim=1) - taken).mean()
        alpha = self.log_alpha.exp().clamp(max=10.0)
        loss = F.mse_loss(taken, goal) + (alpha.detach() * gap).sum()
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.q.parameters(), 10.0)
        self.optimizer.step()

        alpha_loss = (-alpha * (gap.detach() - self.budget)).sum()
        self.alpha_optimizer.zero_grad()
        alpha_loss.backward()
        self.alpha_optimizer.step()
        self.polyak()
        return loss.item(), gap.item()

    @torch.no_grad()
    def polyak(self):
        for p, t in zip(self.q.parameters(), self.target.parameters()):
            t.lerp_(p, self.tau)


if __name__ == '__main__':
    torch.manual_seed(0)
    data = collect()
    agent = CQL()
    for step in range(30):
        loss, gap = agent.update(random.sample(data, 32))
    print(f'loss {loss:.3f} gap {gap:.3f} alpha {agent.log_alpha.exp().item():.3f}')
