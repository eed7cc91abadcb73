# Mixture density network for the inverse kinematics of a two-link arm.
import math

import torch
from torch import nn
from torch.distributions import Categorical, Independent, MixtureSameFamily, Normal


class MDN(nn.Module):
    def __init__(self, n_in, n_out, n_hidden=32, n_mixtures=4):
        super().__init__()
        self.n_out, self.k = n_out, n_mixtures
        self.body = nn.Sequential(nn.Linear(n_in, n_hidden), nn.Tanh(), nn.Linear(n_hidden, n_hidden), nn.Tanh())
        self.pi = nn.Linear(n_hidden, n_mixtures)
        self.mu = nn.Linear(n_hidden, n_mixtures * n_out)
        self.log_sigma = nn.Linear(n_hidden, n_mixtures * n_out)

    def forward(self, x):
        h = self.body(x)
        mu = self.mu(h).view(-1, self.k, self.n_out)
        sigma = self.log_sigma(h).clamp(-5, 2).exp().view(-1, self.k, self.n_out)
        return MixtureSameFamily(Categorical(logits=self.pi(h)), Independent(Normal(mu, sigma), 1))


def forward_kinematics(angles, l1=1.0, l2=0.7):
    a, b = angles.unbind(-1)
    return torch.stack([l1 * a.cos() + l2 * (a + b).cos(), l1 * a.sin() + l2 * (a + b).sin()], -1)


def hand_written_nll(model, x, y):
    """The same by logsumexp, to check the library's number."""
    h = model.body(x)
    log_pi = model.pi(h).log_softmax(-1)
    mu = model.mu(h).view(-1, model.k, model.n_out)
    log_sigma = model.log_sigma(h).clamp(-5, 2).view(-1, model.k, model.n_out)
    z = (y.unsqueeze(1) - mu) / log_sigma.exp()
    log_prob = -0.5 * (z ** 2).sum(-1) - log_sigma.sum(-1) - model.n_out * 0.5 * math.log(2 * math.pi)
    return -torch.logsumexp(log_pi + log_prob, -1).mean()


class Trainer:
    def __init__(self, model, lr=3e-3):
        self.model = model
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=10)
        self.best = float('inf')
        self.best_state = None
        self.norms = []

    def fit(self, x, y, epochs=6):
        for _ in range(epochs):
            self.model.train()
            nll = -self.model(x).log_prob(y).mean()
            self.optimizer.zero_grad()
            nll.backward()
            norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), 5.0)
            self.optimizer.step()
            self.scheduler.step()
            self.norms.append(norm.item())
            if nll.item() < self.best:
                self.best = nll.item()
                self.best_state = {k: v.detach().clone() for k, v in self.model.state_dict().items()}
        self.model.load_state_dict(self.best_state)
        return self.best


if __name__ == '__main__':
    torch.manual_seed(1)
    angles = torch.rand(128, 2) * math.pi
    goals = forward_kinematics(angles)
    model = MDN(2, 2)
    trainer = Trainer(model)
    print('nll', trainer.fit(goals, angles))
    with torch.no_grad():
        print('by hand', hand_written_nll(model, goals, angles).item())
        guess = model(goals).sample()
        print('reach error', (forward_kinematics(guess) - goals).norm(dim=-1).mean().item())
