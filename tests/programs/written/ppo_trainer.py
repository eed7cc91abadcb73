"""Proximal policy optimisation for a point mass with continuous actions."""
from dataclasses import dataclass, field
from typing import Dict, List, Tuple

import torch
import torch.nn as nn
from torch import Tensor
from torch.distributions import Normal


@dataclass
class Config:
    horizon: int = 32
    epochs: int = 3
    minibatch: int = 16
    clip: float = 0.2
    gamma: float = 0.97
    lam: float = 0.95
    lr: float = 3e-4
    max_grad_norm: float = 0.5
    sizes: Tuple[int, ...] = field(default_factory=lambda: (32, 32))


class PointMass:
    def reset(self) -> Tensor:
        self.x = torch.randn(2)
        self.t = 0
        return self.x.clone()

    def step(self, action: Tensor) -> Tuple[Tensor, float, bool]:
        self.x = self.x + 0.1 * action.clamp(-1, 1)
        self.t += 1
        return self.x.clone(), -self.x.norm().item(), self.t >= 10


def mlp(sizes: Tuple[int, ...], out: int) -> nn.Sequential:
    layers: List[nn.Module] = []
    last = 2
    for size in sizes:
        layers += [nn.Linear(last, size), nn.Tanh()]
        last = size
    return nn.Sequential(*layers, nn.Linear(last, out))


class Agent(nn.Module):
    def __init__(self, cfg: Config) -> None:
        super().__init__()
        self.critic = mlp(cfg.sizes, 1)
        self.actor_mean = mlp(cfg.sizes, 2)
        self.actor_logstd = nn.Parameter(torch.zeros(1, 2))

    def value(self, obs: Tensor) -> Tensor:
        return self.critic(obs).squeeze(-1)

    def distribution(self, obs: Tensor) -> Normal:
        return Normal(self.actor_mean(obs), self.actor_logstd.exp())


class Trainer:
    def __init__(self, cfg: Config) -> None:
        self.cfg = cfg
        self.env = PointMass()
        self.agent = Agent(cfg)
        self.optimizer = torch.optim.Adam(self.agent.parameters(), lr=cfg.lr, eps=1e-5)
        self.obs = self.env.reset()

    @torch.no_grad()
    def rollout(self) -> Dict[str, Tensor]:
        cfg = self.cfg
        obs, actions = torch.zeros(cfg.horizon, 2), torch.zeros(cfg.horizon, 2)
        logp, rewards = torch.zeros(cfg.horizon), torch.zeros(cfg.horizon)
        values, dones = torch.zeros(cfg.horizon + 1), torch.zeros(cfg.horizon)
        for t in range(cfg.horizon):
            dist = self.agent.distribution(self.obs.unsqueeze(0))
            action = dist.sample()
            obs[t], actions[t] = self.obs, action[0]
            logp[t] = dist.log_prob(action).sum()
            values[t] = self.agent.value(self.obs)
            self.obs, reward, done = self.env.step(action[0])
            rewards[t], dones[t] = reward, float(done)
            if done:
                self.obs = self.env.reset()
        values[-1] = self.agent.value(self.obs)
        advantages = torch.zeros(cfg.horizon)
        running = 0.0
        for t in reversed(range(cfg.horizon)):
            delta = rewards[t] + cfg.gamma * values[t + 1] * (1 - dones[t]) - values[t]
            running = delta + cfg.gamma * cfg.lam * (1 - dones[t]) * running
            advantages[t] = running
        return dict(obs=obs, actions=actions, logp=logp, adv=advantages, ret=advantages + values[:-1])

    def update(self, data: Dict[str, Tensor]) -> Dict[str, float]:
        cfg = self.cfg
        stats = {"policy": 0.0, "value": 0.0}
        for _ in range(cfg.epochs):
            for idx in torch.randperm(cfg.horizon).split(cfg.minibatch):
                dist = self.agent.distribution(data["obs"][idx])
                logp = dist.log_prob(data["actions"][idx]).sum(-1)
                ratio = (logp - data["logp"][idx]).exp()
                adv = data["adv"][idx]
                adv = (adv - adv.mean()) / (adv.std() + 1e-8)
                unclipped = -adv * ratio
                clipped = -adv * ratio.clamp(1 - cfg.clip, 1 + cfg.clip)
                policy_loss = torch.max(unclipped, clipped).mean()
                value_loss = 0.5 * (self.agent.value(data["obs"][idx]) - data["ret"][idx]).pow(2).mean()
                entropy = dist.entropy().sum(-1).mean()
                loss = policy_loss + 0.5 * value_loss - 0.01 * entropy
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.agent.parameters(), cfg.max_grad_norm)
                self.optimizer.step()
                stats["policy"] += policy_loss.item()
                stats["value"] += value_loss.item()
        return stats


if __name__ == "__main__":
    torch.manual_seed(2)
    trainer = Trainer(Config())
    for iteration in range(3):
        print(iteration, trainer.update(trainer.rollout()))
