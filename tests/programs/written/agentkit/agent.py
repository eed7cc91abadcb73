"""An agent with a shared body, a policy and a value head."""
import torch
from torch import nn
from torch.distributions import Categorical
import torch.nn.functional as F

from .memory import Memory


class ActorCritic(nn.Module):
    def __init__(self, obs, actions, hidden=16):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(obs, hidden), nn.Tanh())
        self.pi, self.v = nn.Linear(hidden, actions), nn.Linear(hidden, 1)

    def forward(self, x):
        h = self.body(x)
        return Categorical(logits=self.pi(h)), self.v(h).squeeze(-1)


class PolicyGradientAgent:
    def __init__(self, obs, actions, lr=1e-2, gamma=0.95):
        self.net = ActorCritic(obs, actions)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=lr)
        self.memory = Memory()
        self.gamma = gamma
        self.average = 0.0

    def act(self, observation):
        dist, value = self.net(torch.as_tensor(observation, dtype=torch.float32))
        action = dist.sample()
        return action.item(), dist.log_prob(action), value

    def learn(self):
        returns = self.memory.returns(self.gamma)
        log_probs, values = torch.stack(self.memory.log_probs), torch.stack(self.memory.values)
        advantage = returns - values.detach()
        loss = -(log_probs * advantage).mean() + 0.5 * F.mse_loss(values, returns)
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.average = 0.9 * self.average + 0.1 * loss.item()
        self.memory.clear()
        return self.average
