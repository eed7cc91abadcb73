"""Gaussian process regression: exact marginal likelihood, then a sparse variational approximation."""
import math

import torch
from torch import nn

torch.set_default_dtype(torch.float64)


class RBF(nn.Module):
    def __init__(self, lengthscale=0.5, variance=1.0):
        super().__init__()
        self.log_lengthscale = nn.Parameter(torch.tensor(math.log(lengthscale)))
        self.log_variance = nn.Parameter(torch.tensor(math.log(variance)))

    def forward(self, a, b):
        scaled = (a[:, None, :] - b[None, :, :]) / self.log_lengthscale.exp()
        return self.log_variance.exp() * torch.exp(-0.5 * scaled.pow(2).sum(-1))


def add_jitter(K, value=1e-6):
    return K + value * torch.eye(K.size(0))


class ExactGP(nn.Module):
    def __init__(self, x, y):
        super().__init__()
        self.kernel = RBF()
        self.log_noise = nn.Parameter(torch.tensor(-2.0))
        self.register_buffer("x", x)
        self.register_buffer("y", y)

    def neg_log_marginal(self):
        n = len(self.x)
        K = self.kernel(self.x, self.x) + self.log_noise.exp() * torch.eye(n)
        L = torch.linalg.cholesky(K)
        alpha = torch.cholesky_solve(self.y.unsqueeze(1), L)
        return (0.5 * self.y @ alpha.squeeze(1) + L.diagonal().log().sum() + 0.5 * n * math.log(2 * math.pi)) / n

    @torch.no_grad()
    def predict(self, x_new):
        K = self.kernel(self.x, self.x)
        K.diagonal().add_(self.log_noise.exp())
        L = torch.linalg.cholesky(K)
        K_s = self.kernel(self.x, x_new)
        v = torch.linalg.solve_triangular(L, K_s, upper=False)
        mean = K_s.T @ torch.cholesky_solve(self.y.unsqueeze(1), L)
        variance = self.kernel(x_new, x_new).diagonal() - v.pow(2).sum(0)
        return mean.squeeze(1), variance.clamp_(min=0).sqrt_()


class SparseGP(nn.Module):
    def __init__(self, inducing):
        super().__init__()
        m = len(inducing)
        self.kernel = RBF()
        self.inducing = nn.Parameter(inducing.clone())
        self.mean = nn.Parameter(torch.zeros(m))
        self.raw_chol = nn.Parameter(torch.eye(m))
        self.log_noise = nn.Parameter(torch.tensor(-2.0))

    def elbo(self, x, y, n_total):
        Kmm = add_jitter(self.kernel(self.inducing, self.inducing))
        L = torch.linalg.cholesky(Kmm)
        A = torch.linalg.solve_triangular(L, self.kernel(self.inducing, x), upper=False)
        S = torch.tril(self.raw_chol)
        f_mean = A.T @ self.mean
        f_var = self.kernel.log_variance.exp() - A.pow(2).sum(0) + (S.T @ A).pow(2).sum(0)
        noise = self.log_noise.exp()
        expected = -0.5 * ((y - f_mean).pow(2) + f_var) / noise - 0.5 * (2 * math.pi * noise).log()
        kl = 0.5 * (S.pow(2).sum() + self.mean.pow(2).sum() - len(self.mean)) - S.diagonal().abs().clamp(min=1e-6).log().sum()
        return expected.mean() - kl / n_total


torch.manual_seed(0)
x = torch.rand(50, 1) * 4 - 2
y = torch.sin(2 * x).squeeze(1) + 0.1 * torch.randn(50)
gp = ExactGP(x, y)
optimizer = torch.optim.LBFGS(gp.parameters(), lr=0.1, max_iter=4)


def closure():
    optimizer.zero_grad()
    loss = gp.neg_log_marginal()
    loss.backward()
    return loss


trace = [optimizer.step(closure).item() for _ in range(3)]
mean, std = gp.predict(torch.linspace(-2, 2, 7).unsqueeze(1))

svgp = SparseGP(x[torch.randperm(50)[:8]])
adam = torch.optim.Adam(svgp.parameters(), lr=0.02)
elbos = torch.zeros(20)
for it in range(20):
    idx = torch.randint(0, 50, (16,))
    adam.zero_grad()
    loss = -svgp.elbo(x[idx], y[idx], 50)
    loss.backward()
    adam.step()
    elbos[it] = -loss.detach()
print(trace, std.mean().item(), elbos[0].item(), elbos[-1].item())
