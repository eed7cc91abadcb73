"""Recurrent advantage actor-critic on a memory task (gymnasium API)."""
from __future__ import annotations

import gymnasium as gym
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class RecurrentPolicy(nn.Module):
    def __init__(self, obs_dim: int, n_actions: int, hidden: int = 16) -> None:
        super().__init__()
        self.rnn = nn.LSTMCell(obs_dim, hidden)
        self.pi = nn.Linear(hidden, n_actions)
        self.v = nn.Linear(hidden, 1)
        self.hidden_size = hidden
        self.reset_hidden()

    def reset_hidden(self) -> None:
        self.hx = torch.zeros(1, self.hidden_size)
        self.cx = torch.zeros(1, self.hidden_size)

    def detach_hidden(self) -> None:
        self.hx = self.hx.detach()
        self.cx = self.cx.detach()

    def forward(self, obs: torch.Tensor) -> tuple[Categorical, torch.Tensor]:
        self.hx, self.cx = self.rnn(obs.unsqueeze(0), (self.hx, self.cx))
        return Categorical(logits=self.pi(self.hx)), self.v(self.hx).squeeze()


class Rollout:
    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        self.log_probs: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []
        self.entropies: list[torch.Tensor] = []
        self.rewards: list[float] = []

    def gae(self, last_value: float, gamma: float, lam: float) -> tuple[torch.Tensor, torch.Tensor]:
        values = [v.item() for v in self.values] + [last_value]
        advantages, running = [], 0.0
        for t in reversed(range(len(self.rewards))):
            delta = self.rewards[t] + gamma * values[t + 1] - values[t]
            running = delta + gamma * lam * running
            advantages.insert(0, running)
        advantage = torch.tensor(advantages, dtype=torch.float32)
        return advantage, advantage + torch.tensor(values[:-1])


def update(policy: RecurrentPolicy, rollout: Rollout, optimizer: torch.optim.Optimizer, last_value: float) -> float:
    advantage, returns = rollout.gae(last_value, gamma=0.95, lam=0.9)
    log_probs = torch.cat(rollout.log_probs)
    values = torch.stack(rollout.values)
    policy_loss = -(log_probs * advantage).mean()
    value_loss = F.smooth_l1_loss(values, returns)
    loss = policy_loss + 0.5 * value_loss - 0.01 * torch.cat(rollout.entropies).mean()
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_norm_(policy.parameters(), 0.5)
    optimizer.step()
    rollout.clear()
    policy.detach_hidden()
    return loss.item()


def main(total_steps: int = 60, horizon: int = 5) -> None:
    torch.manual_seed(0)
    env = gym.make("CartPole-v1")
    policy = RecurrentPolicy(env.observation_space.shape[0], env.action_space.n)
    optimizer = torch.optim.Adam(policy.parameters(), lr=3e-3)
    rollout = Rollout()
    obs, _ = env.reset(seed=0)
    episode_return, returns, losses = 0.0, [], []
    for step in range(total_steps):
        dist, value = policy(torch.as_tensor(obs, dtype=torch.float32))
        action = dist.sample()
        obs, reward, terminated, truncated, _ = env.step(action.item())
        rollout.log_probs.append(dist.log_prob(action))
        rollout.entropies.append(dist.entropy())
        rollout.values.append(value)
        rollout.rewards.append(float(reward))
        episode_return += float(reward)
        if terminated or truncated or len(rollout.rewards) == horizon:
            last_value = 0.0
            if not terminated:
                with torch.no_grad():
                    saved = policy.hx, policy.cx
                    last_value = policy(torch.as_tensor(obs, dtype=torch.float32))[1].item()
                    policy.hx, policy.cx = saved
            losses.append(update(policy, rollout, optimizer, last_value))
        if terminated or truncated:
            returns.append(episode_return)
            episode_return = 0.0
            policy.reset_hidden()
            obs, _ = env.reset()
    print("episodes", len(returns), "mean return", np.mean(returns or [0.0]), "last loss", losses[-1])


if __name__ == "__main__":
    main()
