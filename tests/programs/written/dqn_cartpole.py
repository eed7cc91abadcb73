import math
import random
from collections import deque, namedtuple
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple('Transition', ('state', 'action', 'next_state', 'reward', 'done'))


class PoleEnv:
    """A pole that falls over; good enough to test the learning code."""

    def reset(self):
        self.state = np.random.uniform(-0.05, 0.05, size=4).astype(np.float32)
        self.t = 0
        return self.state

    def step(self, action):
        x, v, theta, omega = self.state
        force = 1.0 if action == 1 else -1.0
        omega = omega + 0.2 * (math.sin(theta) * 9.8 - force * math.cos(theta)) * 0.1
        self.state = np.array([x + 0.02 * v, v + 0.1 * force, theta + 0.1 * omega, omega], dtype=np.float32)
        self.t += 1
        done = abs(theta) > 0.4 or self.t >= 20
        return self.state, 1.0, done


class ReplayMemory(object):
    def __init__(self, capacity):
        self.memory = deque([], maxlen=capacity)

    def push(self, *args):
        self.memory.append(Transition(*args))

    def sample(self, batch_size):
        return random.sample(self.memory, batch_size)

    def __len__(self):
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, n_observations, n_actions):
        super(DQN, self).__init__()
        self.layer1 = nn.Linear(n_observations, 32)
        self.layer2 = nn.Linear(32, 32)
        self.layer3 = nn.Linear(32, n_actions)

    def forward(self, x):
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


BATCH_SIZE, GAMMA, TAU, LR = 16, 0.99, 0.05, 1e-3
policy_net = DQN(4, 2)
target_net = DQN(4, 2)
target_net.load_state_dict(policy_net.state_dict())
optimizer = optim.AdamW(policy_net.parameters(), lr=LR, amsgrad=True)
memory = ReplayMemory(500)
env = PoleEnv()
steps_done = 0


def select_action(state):
    global steps_done
    eps = 0.05 + 0.85 * math.exp(-steps_done / 50)
    steps_done += 1
    if random.random() > eps:
        with torch.no_grad():
            return policy_net(state).max(1).indices.view(1, 1)
    return torch.tensor([[random.randrange(2)]], dtype=torch.long)


def optimize_model():
    if len(memory) < BATCH_SIZE:
        return None
    batch = Transition(*zip(*memory.sample(BATCH_SIZE)))
    state_batch = torch.cat(batch.state)
    action_batch = torch.cat(batch.action)
    reward_batch = torch.cat(batch.reward)
    not_done = 1.0 - torch.cat(batch.done)
    next_batch = torch.cat(batch.next_state)

    state_action_values = policy_net(state_batch).gather(1, action_batch).squeeze(1)
    with torch.no_grad():
        next_state_values = target_net(next_batch).max(1).values * not_done
    expected = reward_batch + GAMMA * next_state_values

    loss = F.smooth_l1_loss(state_action_values, expected)
    optimizer.zero_grad()
    loss.backward()
    torch.nn.utils.clip_grad_value_(policy_net.parameters(), 100)
    optimizer.step()
    return loss.item()


durations = []
for i_episode in range(4):
    state = torch.from_numpy(env.reset()).unsqueeze(0)
    for t in count():
        action = select_action(state)
        observation, reward, done = env.step(action.item())
        next_state = torch.tensor(observation).unsqueeze(0)
        memory.push(state, action, next_state, torch.tensor([reward]), torch.tensor([float(done)]))
        state = next_state
        optimize_model()
        target_state, policy_state = target_net.state_dict(), policy_net.state_dict()
        for key in policy_state:
            target_state[key] = policy_state[key] * TAU + target_state[key] * (1 - TAU)
        target_net.load_state_dict(target_state)
        if done:
            durations.append(t + 1)
            break
print('Complete', durations)
