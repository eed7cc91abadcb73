"""Energy-based model: contrastive divergence with Langevin dynamics and a replay buffer."""
import random

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class EnergyNet(nn.Module):
    def __init__(self, n_in=2, hidden=32):
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(n_in, hidden), nn.SiLU(),
            nn.Linear(hidden, hidden), nn.SiLU(),
            nn.Linear(hidden, 1),
        )

    def forward(self, x):
        return self.layers(x).squeeze(dim=-1)


class Sampler:
    def __init__(self, model, shape, sample_size, max_len=256):
        self.model = model
        self.shape = shape
        self.sample_size = sample_size
        self.max_len = max_len
        self.examples = [(torch.rand((1,) + shape) * 2 - 1) for _ in range(sample_size)]

    def sample_new_exmps(self, steps=10, step_size=0.1):
        n_new = np.random.binomial(self.sample_size, 0.05)
        rand = torch.rand((n_new,) + self.shape) * 2 - 1
        old = torch.cat(random.choices(self.examples, k=self.sample_size - n_new), dim=0)
        inp = torch.cat([rand, old], dim=0).detach()
        inp = Sampler.generate_samples(self.model, inp, steps=steps, step_size=step_size)
        self.examples = list(inp.chunk(self.sample_size, dim=0)) + self.examples
        self.examples = self.examples[:self.max_len]
        return inp

    @staticmethod
    def generate_samples(model, inp, steps=10, step_size=0.1):
        # Before MCMC: only the gradients of the input are of interest.
        is_training = model.training
        model.eval()
        for p in model.parameters():
            p.requires_grad = False
        inp = inp.clone()
        inp.requires_grad = True
        had_gradients_enabled = torch.is_grad_enabled()
        torch.set_grad_enabled(True)
        noise = torch.randn(inp.shape)
        for _ in range(steps):
            noise.normal_(0, 0.01)
            inp.data.add_(noise.data)
            inp.data.clamp_(min=-2.0, max=2.0)
            out = -model(inp)
            out.sum().backward()
            inp.grad.data.clamp_(-0.3, 0.3)
            with torch.no_grad():
                inp.add_(inp.grad, alpha=-step_size)
            inp.grad.detach_()
            inp.grad.zero_()
        for p in model.parameters():
            p.requires_grad = True
        model.train(is_training)
        torch.set_grad_enabled(had_gradients_enabled)
        return inp.detach()


def training_step(model, sampler, optimizer, real, alpha=0.1):
    small_noise = torch.randn_like(real) * 0.005
    real = real + small_noise
    fake = sampler.sample_new_exmps()
    real_out, fake_out = model(torch.cat([real, fake], dim=0)).chunk(2, dim=0)
    reg_loss = alpha * (real_out ** 2 + fake_out ** 2).mean()
    cdiv_loss = fake_out.mean() - real_out.mean()
    loss = reg_loss + cdiv_loss
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 0.1)
    optimizer.step()
    return {'loss': loss.detach(), 'real': real_out.mean().detach(), 'fake': fake_out.mean().detach()}


random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
model = EnergyNet()
sampler = Sampler(model, (2,), sample_size=16)
optimizer = optim.Adam(model.parameters(), lr=1e-3, betas=(0.0, 0.999))
logs = []
for step in range(8):
    angle = torch.rand(16) * 6.28
    logs.append(training_step(model, sampler, optimizer, torch.stack([angle.cos(), angle.sin()], dim=1)))
print({k: torch.stack([row[k] for row in logs]).mean().item() for k in logs[0]})
