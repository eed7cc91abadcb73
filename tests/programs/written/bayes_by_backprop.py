"""Bayes by backprop: gaussian weights, scale mixture prior, several samples per step."""
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


class Gaussian(object):
    def __init__(self, mu, rho):
        super().__init__()
        self.mu = mu
        self.rho = rho
        self.normal = torch.distributions.Normal(0, 1)

    @property
    def sigma(self):
        return F.softplus(self.rho)

    def sample(self):
        epsilon = self.normal.sample(self.rho.size())
        return self.mu + self.sigma * epsilon

    def log_prob(self, input):
        return (-math.log(math.sqrt(2 * math.pi)) - torch.log(self.sigma)
                - ((input - self.mu) ** 2) / (2 * self.sigma ** 2)).sum()


class ScaleMixtureGaussian(object):
    def __init__(self, pi, sigma1, sigma2):
        super().__init__()
        self.pi = pi
        self.gaussian1 = torch.distributions.Normal(0, sigma1)
        self.gaussian2 = torch.distributions.Normal(0, sigma2)

    def log_prob(self, input):
        prob1 = torch.exp(self.gaussian1.log_prob(input))
        prob2 = torch.exp(self.gaussian2.log_prob(input))
        return (torch.log(self.pi * prob1 + (1 - self.pi) * prob2 + 1e-12)).sum()


class BayesianLinear(nn.Module):
    def __init__(self, in_features, out_features):
        super().__init__()
        self.weight_mu = nn.Parameter(torch.Tensor(out_features, in_features).uniform_(-0.2, 0.2))
        self.weight_rho = nn.Parameter(torch.Tensor(out_features, in_features).uniform_(-5, -4))
        self.weight = Gaussian(self.weight_mu, self.weight_rho)
        self.bias_mu = nn.Parameter(torch.Tensor(out_features).uniform_(-0.2, 0.2))
        self.bias_rho = nn.Parameter(torch.Tensor(out_features).uniform_(-5, -4))
        self.bias = Gaussian(self.bias_mu, self.bias_rho)
        self.prior = ScaleMixtureGaussian(0.5, 1.0, 0.05)
        self.log_prior = 0
        self.log_variational_posterior = 0

    def forward(self, input, sample=False):
        if self.training or sample:
            weight = self.weight.sample()
            bias = self.bias.sample()
        else:
            weight = self.weight.mu
            bias = self.bias.mu
        if self.training:
            self.log_prior = self.prior.log_prob(weight) + self.prior.log_prob(bias)
            self.log_variational_posterior = self.weight.log_prob(weight) + self.bias.log_prob(bias)
        return F.linear(input, weight, bias)


class BayesianNetwork(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = BayesianLinear(1, 16)
        self.l2 = BayesianLinear(16, 1)

    def forward(self, x, sample=False):
        return self.l2(F.relu(self.l1(x, sample)), sample)

    def log_prior(self):
        return self.l1.log_prior + self.l2.log_prior

    def log_variational_posterior(self):
        return self.l1.log_variational_posterior + self.l2.log_variational_posterior

    def sample_elbo(self, input, target, samples=2, n_batches=4):
        outputs = torch.zeros(samples, *target.shape)
        log_priors = torch.zeros(samples)
        log_variational_posteriors = torch.zeros(samples)
        for i in range(samples):
            outputs[i] = self(input, sample=True)
            log_priors[i] = self.log_prior()
            log_variational_posteriors[i] = self.log_variational_posterior()
        nll = F.mse_loss(outputs.mean(0), target, reduction='sum') / 0.02
        kl = (log_variational_posteriors.mean() - log_priors.mean()) / n_batches
        return kl + nll, kl, nll


torch.manual_seed(0)
x = torch.linspace(-1, 1, 32).unsqueeze(1)
y = torch.sin(3 * x) + 0.1 * torch.randn_like(x)
net = BayesianNetwork()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
for epoch in range(3):
    net.train()
    for idx in torch.randperm(32).split(8):
        net.zero_grad()
        loss, kl, nll = net.sample_elbo(x[idx], y[idx])
        loss.backward()
        optimizer.step()
    print(epoch, loss.item(), kl.item(), nll.item())
net.eval()
with torch.no_grad():
    spread = torch.stack([net(x, sample=True) for _ in range(5)]).std(0).mean()
print("predictive spread", spread.item())
