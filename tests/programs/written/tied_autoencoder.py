"""Sparse autoencoder with tied weights; the weight matrix is renormalised after each step."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class TiedAutoencoder(nn.Module):
    def __init__(self, n_in, n_hidden):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_hidden, n_in) * 0.1)
        self.b_enc = nn.Parameter(torch.zeros(n_hidden))
        self.b_dec = nn.Parameter(torch.zeros(n_in))
        self.register_buffer("usage", torch.zeros(n_hidden))
        self.activations = None

    def encode(self, x):
        return F.relu(F.linear(x - self.b_dec, self.weight, self.b_enc))

    def decode(self, h):
        return F.linear(h, self.weight.t()) + self.b_dec

    def forward(self, x):
        h = self.encode(x)
        if self.training:
            self.usage.mul_(0.9).add_((h > 0).float().mean(0), alpha=0.1)
        self.activations = h
        return self.decode(h)

    @torch.no_grad()
    def normalize_(self):
        self.weight /= self.weight.norm(dim=1, keepdim=True).clamp(min=1e-8)

    @torch.no_grad()
    def remove_parallel_gradient_(self):
        unit = F.normalize(self.weight, dim=1)
        self.weight.grad -= (self.weight.grad * unit).sum(1, keepdim=True) * unit


def sparse_batch(n, dictionary):
    coefficients = torch.rand(n, dictionary.size(0)) * (torch.rand(n, dictionary.size(0)) < 0.1)
    return coefficients @ dictionary


def train(model, dictionary, n_steps=30, l1=1e-3, lr=1e-2):
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    trace = {"mse": [], "l0": []}
    for step in range(n_steps):
        batch = sparse_batch(32, dictionary)
        batch += 0.01 * torch.randn_like(batch)
        reconstruction = model(batch)
        mse = (reconstruction - batch).pow(2).sum(-1).mean()
        sparsity = model.activations.abs().sum(-1).mean()
        loss = mse + l1 * sparsity
        for p in model.parameters():
            p.grad = None
        loss.backward()
        model.remove_parallel_gradient_()
        optimizer.step()
        model.normalize_()
        trace["mse"].append(mse.item())
        trace["l0"].append((model.activations > 0).float().sum(-1).mean().item())
    return trace


def resample_dead(model, threshold=1e-3):
    dead = (model.usage < threshold).nonzero().flatten()
    for i in dead.tolist():
        model.weight.data[i] = F.normalize(torch.randn(model.weight.size(1)), dim=0)
        model.b_enc.data[i] = 0.0
    return len(dead)


torch.manual_seed(0)
dictionary = F.normalize(torch.randn(24, 10), dim=1)
sae = TiedAutoencoder(10, 24)
sae.normalize_()
trace = train(sae, dictionary)
print("mse %.4f -> %.4f, l0 %.1f, resampled %d" % (trace["mse"][0], trace["mse"][-1], trace["l0"][-1], resample_dead(sae)))
