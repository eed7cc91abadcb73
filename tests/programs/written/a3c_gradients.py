"""Advantage actor-critic after A3C: workers compute gradients, a shared model receives them."""
from __future__ import print_function

import torch
import torch.nn as nn
import torch.nn.functional as F


def normalized_columns_initializer(weights, std=1.0):
    out = torch.randn(weights.size())
    out *= std / torch.sqrt(out.pow(2).sum(1, keepdim=True))
    return out


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Linear') != -1:
        fan_in, fan_out = m.weight.data.size(1), m.weight.data.size(0)
        w_bound = (6. / (fan_in + fan_out)) ** 0.5
        m.weight.data.uniform_(-w_bound, w_bound)
        m.bias.data.fill_(0)


class ActorCritic(nn.Module):
    def __init__(self, num_inputs, num_actions):
        super(ActorCritic, self).__init__()
        self.fc = nn.Linear(num_inputs, 16)
        self.lstm = nn.LSTMCell(16, 16)
        self.critic_linear = nn.Linear(16, 1)
        self.actor_linear = nn.Linear(16, num_actions)
        self.apply(weights_init)
        self.actor_linear.weight.data = normalized_columns_initializer(self.actor_linear.weight.data, 0.01)
        self.actor_linear.bias.data.fill_(0)
        self.lstm.bias_ih.data.fill_(0)
        self.lstm.bias_hh.data.fill_(0)
        self.train()

    def forward(self, inputs):
        inputs, (hx, cx) = inputs
        x = F.elu(self.fc(inputs))
        hx, cx = self.lstm(x, (hx, cx))
        return self.critic_linear(hx), self.actor_linear(hx), (hx, cx)


class Line:
    def __init__(self, seed):
        self.rng = torch.Generator().manual_seed(seed)

    def reset(self):
        self.x, self.t = torch.randn(3, generator=self.rng), 0
        return self.x

    def step(self, action):
        self.t += 1
        self.x = self.x + (0.2 if action == 1 else -0.2)
        return self.x, -self.x.abs().mean().item(), self.t >= 9


def ensure_shared_grads(model, shared_model):
    for param, shared_param in zip(model.parameters(), shared_model.parameters()):
        shared_param._grad = param.grad


def train(rank, shared_model, optimizer, updates=4, num_steps=5, gamma=0.99, gae_lambda=1.0):
    torch.manual_seed(rank)
    env = Line(rank)
    model = ActorCritic(3, 2)
    state = env.reset()
    done = True
    for _ in range(updates):
        # Sync with the shared model
        model.load_state_dict(shared_model.state_dict())
        model.zero_grad()
        if done:
            cx = torch.zeros(1, 16)
            hx = torch.zeros(1, 16)
        else:
            cx = cx.detach()
            hx = hx.detach()
        values, log_probs, rewards, entropies = [], [], [], []
        for step in range(num_steps):
            value, logit, (hx, cx) = model((state.unsqueeze(0), (hx, cx)))
            prob = F.softmax(logit, dim=-1)
            log_prob = F.log_softmax(logit, dim=-1)
            entropies.append(-(log_prob * prob).sum(1, keepdim=True))
            action = prob.multinomial(num_samples=1).detach()
            log_probs.append(log_prob.gather(1, action))
            state, reward, done = env.step(action.item())
            values.append(value)
            rewards.append(max(min(reward, 1), -1))
            if done:
                state = env.reset()
                break
        R = torch.zeros(1, 1)
        if not done:
            value, _, _ = model((state.unsqueeze(0), (hx, cx)))
            R = value.detach()
        values.append(R)
        policy_loss = 0
        value_loss = 0
        gae = torch.zeros(1, 1)
        for i in reversed(range(len(rewards))):
            R = gamma * R + rewards[i]
            advantage = R - values[i]
            value_loss = value_loss + 0.5 * advantage.pow(2)
            delta_t = rewards[i] + gamma * values[i + 1] - values[i]
            gae = gae * gamma * gae_lambda + delta_t
            policy_loss = policy_loss - log_probs[i] * gae.detach() - 0.01 * entropies[i]
        optimizer.zero_grad()
        (policy_loss + 0.5 * value_loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 50)
        ensure_shared_grads(model, shared_model)
        optimizer.step()
    return policy_loss.item(), value_loss.item()


torch.manual_seed(1)
shared_model = ActorCritic(3, 2)
optimizer = torch.optim.Adam(shared_model.parameters(), lr=1e-3)
for rank in range(3):
    print(rank, train(rank, shared_model, optimizer))
