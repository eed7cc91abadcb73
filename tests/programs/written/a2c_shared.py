import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.distributions import Categorical


class VecBandit:
    """Several copies of a drifting two-armed bandit with a little context."""

    def __init__(self, n_envs=4, n_obs=5):
        self.n_envs = n_envs
        self.w = torch.randn(n_obs, 2)

    def observe(self):
        self.x = torch.randn(self.n_envs, self.w.shape[0])
        return self.x

    def step(self, action):
        scores = self.x @ self.w
        reward = scores.gather(1, action.unsqueeze(1)).squeeze(1)
        done = (torch.rand(self.n_envs) < 0.1).float()
        return self.observe(), reward, done


class ActorCritic(nn.Module):
    def __init__(self, n_obs, n_actions, hidden=24):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(n_obs, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.actor = nn.Linear(hidden, n_actions)
        self.critic = nn.Linear(hidden, 1)

    def forward(self, obs):
        h = self.body(obs)
        return Categorical(logits=self.actor(h)), self.critic(h).squeeze(-1)


class A2CAgent:
    def __init__(self, env, rollout=5, gamma=0.9, value_coef=0.5, entropy_coef=0.01):
        self.env = env
        self.model = ActorCritic(5, 2)
        self.optimizer = torch.optim.RMSprop(self.model.parameters(), lr=7e-4, eps=1e-5)
        self.rollout = rollout
        self.gamma = gamma
        self.value_coef = value_coef
        self.entropy_coef = entropy_coef
        self.obs = env.observe()

    def collect(self):
        log_probs, values, rewards, masks, entropies = [], [], [], [], []
        for _ in range(self.rollout):
            dist, value = self.model(self.obs)
            action = dist.sample()
            self.obs, reward, done = self.env.step(action)
            log_probs.append(dist.log_prob(action))
            entropies.append(dist.entropy())
            values.append(value)
            rewards.append(reward)
            masks.append(1 - done)
        with torch.no_grad():
            _, last_value = self.model(self.obs)
        return log_probs, values, rewards, masks, entropies, last_value

    def returns(self, rewards, masks, last_value):
        out, running = [], last_value
        for reward, mask in zip(reversed(rewards), reversed(masks)):
            running = reward + self.gamma * running * mask
            out.insert(0, running)
        return torch.stack(out)

    def update(self):
        log_probs, values, rewards, masks, entropies, last_value = self.collect()
        returns = self.returns(rewards, masks, last_value)
        log_probs = torch.stack(log_probs)
        values = torch.stack(values)
        advantage = returns - values
        actor_loss = -(log_probs * advantage.detach()).mean()
        critic_loss = advantage.pow(2).mean()
        entropy = torch.stack(entropies).mean()
        loss = actor_loss + self.value_coef * critic_loss - self.entropy_coef * entropy
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 0.5)
        self.optimizer.step()
        return {"actor": actor_loss.item(), "critic": critic_loss.item(), "entropy": entropy.item()}


torch.manual_seed(5)
agent = A2CAgent(VecBandit())
log = [agent.update() for _ in range(10)]
print({k: sum(row[k] for row in log) / len(log) for k in log[0]})
