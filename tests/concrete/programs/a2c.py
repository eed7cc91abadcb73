import torch
import torch.nn.functional as F
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(3)


class Agent(nn.Module):
    def __init__(self, seen=4, actions=3):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(seen, 32), nn.Tanh())
        self.policy = nn.Linear(32, actions)
        self.value = nn.Linear(32, 1)

    def forward(self, state):
        h = self.trunk(state)
        return self.policy(h), self.value(h).squeeze(-1)


class Line:
    """Walk towards the origin."""

    def reset(self):
        self.state, self.time = torch.randn(4), 0
        return self.state

    def step(self, action):
        self.time += 1
        self.state = self.state + 0.1 * torch.randn(4)
        self.state[0] += action - 1
        return self.state, -abs(self.state[0].item()), self.time >= 12


agent, env = Agent(), Line()
optimizer = torch.optim.RMSprop(agent.parameters(), lr=7e-4)
gamma = 0.95
history = []
for episode in range(12):
    state, done = env.reset(), False
    log_probs, values, rewards, entropies = [], [], [], []
    while not done:
        logits, value = agent(state)
        dist = Categorical(logits=logits)
        action = dist.sample()
        state, reward, done = env.step(action.item())
        log_probs.append(dist.log_prob(action))
        entropies.append(dist.entropy())
        values.append(value)
        rewards.append(reward)
    returns, running = [], 0.0
    for reward in reversed(rewards):
        running = reward + gamma * running
        returns.insert(0, running)
    returns = torch.tensor(returns)
    log_probs, values, entropies = torch.stack(log_probs), torch.stack(values), torch.stack(entropies)
    advantages = returns - values
    policy_loss = -(log_probs * advantages.detach()).mean()
    value_loss = F.mse_loss(values, returns)
    loss = policy_loss + 0.5 * value_loss - 0.01 * entropies.mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
    optimizer.step()
    history.append(sum(rewards))
print(history[-1])
