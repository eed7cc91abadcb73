from collections import deque

import torch
from torch import nn
from torch.distributions import Categorical

torch.manual_seed(0)


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 16)
        self.action = nn.Linear(16, 2)
        self.value = nn.Linear(16, 1)
        self.log_probs, self.values, self.rewards = [], [], []

    def forward(self, x):
        h = torch.tanh(self.body(x))
        return self.action(h), self.value(h).squeeze(-1)


model = Actor()
optimizer = torch.optim.Adam(model.parameters(), lr=3e-3)
recent = deque(maxlen=10)
for episode in range(8):
    state = torch.randn(4)
    for t in range(12):
        scores, value = model(state)
        choice = Categorical(logits=scores)
        action = choice.sample()
        model.log_probs.append(choice.log_prob(action))
        model.values.append(value)
        model.rewards.append(1.0 if action.item() == int(state[0] > 0) else 0.0)
        state = torch.randn(4)
    returns, total = [], 0.0
    for reward in reversed(model.rewards):
        total = reward + 0.9 * total
        returns.insert(0, total)
    returns = torch.tensor(returns)
    values = torch.stack(model.values)
    advantage = (returns - values).detach()
    advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
    policy_loss = -(torch.stack(model.log_probs) * advantage).mean()
    loss = policy_loss + 0.5 * nn.functional.mse_loss(values, returns)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    recent.append(sum(model.rewards))
    del model.log_probs[:], model.values[:], model.rewards[:]

# Q-learning with a target network and a replay memory.
policy_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target_net = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 2))
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.AdamW(policy_net.parameters(), lr=1e-3)
memory = deque(maxlen=100)
state = torch.randn(4)
for step in range(40):
    with torch.no_grad():
        action = policy_net(state).argmax()
    following, reward = torch.randn(4), float(state[0] > 0)
    memory.append((state, action, reward, following))
    state = following
    if len(memory) < 16:
        continue
    states, actions, rewards, nexts = zip(*list(memory)[-16:])
    values = policy_net(torch.stack(states)).gather(1, torch.stack(actions)[:, None]).squeeze(1)
    with torch.no_grad():
        best = target_net(torch.stack(nexts)).max(1).values
    loss = nn.functional.smooth_l1_loss(values, torch.tensor(rewards) + 0.9 * best)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    with torch.no_grad():
        for slow, fast in zip(target_net.parameters(), policy_net.parameters()):
            slow.mul_(0.99).add_(fast, alpha=0.01)
print(sum(recent), loss.item())
