"""Two agents with central critics (MADDPG) on a meeting task; replay in numpy."""
import copy
import random
from collections import deque

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(*sizes, out=None):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    layers.pop()
    if out is not None:
        layers.append(out)
    return nn.Sequential(*layers)


class Agent:
    def __init__(self, index, n_agents, obs_dim, act_dim, lr=1e-3):
        self.index = index
        self.actor = mlp(obs_dim, 16, act_dim, out=nn.Tanh())
        self.critic = mlp(n_agents * (obs_dim + act_dim), 16, 1)
        self.target_actor = copy.deepcopy(self.actor)
        self.target_critic = copy.deepcopy(self.critic)
        self.actor_optimizer = torch.optim.Adam(self.actor.parameters(), lr=lr)
        self.critic_optimizer = torch.optim.Adam(self.critic.parameters(), lr=lr)

    @torch.no_grad()
    def act(self, obs, noise):
        action = self.actor(torch.as_tensor(obs, dtype=torch.float32)).numpy()
        return np.clip(action + noise * np.random.randn(*action.shape), -1, 1)

    def soft_update(self, tau):
        with torch.no_grad():
            for net, target in ((self.actor, self.target_actor), (self.critic, self.target_critic)):
                for p, q in zip(net.parameters(), target.parameters()):
                    q.lerp_(p, tau)


class MADDPG:
    def __init__(self, n_agents, obs_dim, act_dim, gamma=0.9):
        self.agents = [Agent(i, n_agents, obs_dim, act_dim) for i in range(n_agents)]
        self.memory = deque(maxlen=500)
        self.gamma = gamma
        self.losses = []

    def update(self, batch_size):
        batch = random.sample(self.memory, batch_size)
        obs, acts, rewards, nxt = (torch.tensor(np.stack(part), dtype=torch.float32) for part in zip(*batch))
        for agent in self.agents:
            i = agent.index
            with torch.no_grad():
                next_acts = [other.target_actor(nxt[:, j]) for j, other in enumerate(self.agents)]
                future = agent.target_critic(torch.cat([nxt.flatten(1), *next_acts], dim=1)).squeeze(1)
                target = rewards[:, i] + self.gamma * future
            q = agent.critic(torch.cat([obs.flatten(1), acts.flatten(1)], dim=1)).squeeze(1)
            critic_loss = F.mse_loss(q, target)
            agent.critic_optimizer.zero_grad()
            critic_loss.backward()
            agent.critic_optimizer.step()

            own = agent.actor(obs[:, i])
            joint = [own if j == i else acts[:, j] for j in range(len(self.agents))]
            actor_loss = -agent.critic(torch.cat([obs.flatten(1), *joint], dim=1)).mean()
            agent.actor_optimizer.zero_grad()
            actor_loss.backward()
            nn.utils.clip_grad_norm_(agent.actor.parameters(), 0.5)
            agent.actor_optimizer.step()
            self.losses.append((critic_loss.item(), actor_loss.item()))
        for agent in self.agents:
            agent.soft_update(0.05)


def main(steps=60):
    torch.manual_seed(0), np.random.seed(0), random.seed(0)
    team = MADDPG(2, 4, 2)
    places = np.random.randn(2, 2)
    for step in range(steps):
        obs = np.stack([np.concatenate([places[i], places[1 - i]]) for i in range(2)])
        acts = np.stack([agent.act(obs[i], 0.1) for i, agent in enumerate(team.agents)])
        places = np.clip(places + 0.1 * acts, -2, 2)
        distance = np.linalg.norm(places[0] - places[1])
        nxt = np.stack([np.concatenate([places[i], places[1 - i]]) for i in range(2)])
        team.memory.append((obs, acts, np.array([-distance, -distance]), nxt))
        if step >= 20:
            team.update(16)
    print("distance", round(float(distance), 3), "losses", team.losses[-1])


if __name__ == "__main__":
    main()
