"""What an episode leaves behind."""
from __future__ import annotations

import torch


class Memory:
    def __init__(self):
        self.log_probs: list[torch.Tensor] = []
        self.values: list[torch.Tensor] = []
        self.rewards: list[float] = []

    def store(self, log_prob, value, reward):
        self.log_probs.append(log_prob)
        self.values.append(value)
        self.rewards.append(reward)

    def clear(self):
        for part in (self.log_probs, self.values, self.rewards):
            part.clear()

    def returns(self, gamma):
        result, running = [], 0.0
        for reward in reversed(self.rewards):
            running = reward + gamma * running
            result.insert(0, running)
        return torch.tensor(result)
