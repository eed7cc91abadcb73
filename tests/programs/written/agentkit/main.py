"""Trains an agent to walk to the right."""
import random

import torch

from agentkit import PolicyGradientAgent


class Corridor:
    def __init__(self, length=6):
        self.length = length

    def reset(self):
        self.at, self.time = 0, 0
        return self.observe()

    def observe(self):
        return [self.at / self.length, self.time / 20]

    def step(self, action):
        self.at = max(0, self.at + (1 if action else -1))
        self.time += 1
        done = self.at == self.length or self.time == 20
        return self.observe(), 1.0 if self.at == self.length else -0.05, done


def main(episodes=12):
    torch.manual_seed(0)
    random.seed(0)
    env, agent = Corridor(), PolicyGradientAgent(2, 2)
    lengths = []
    for episode in range(episodes):
        observation, done = env.reset(), False
        while not done:
            action, log_prob, value = agent.act(observation)
            observation, reward, done = env.step(action)
            agent.memory.store(log_prob, value, reward)
        average = agent.learn()
        lengths.append(env.time)
    print("lengths", lengths, "loss", average)


if __name__ == "__main__":
    main()
