"""Categorical VAE with the Gumbel-softmax relaxation, temperature annealed by hand."""
import math

import torch
from torch import nn
from torch.nn import functional as F


def sample_gumbel(shape, eps=1e-20):
    U = torch.rand(shape)
    return -torch.log(-torch.log(U + eps) + eps)


def gumbel_softmax(logits, temperature, hard=False):
    y = F.softmax((logits + sample_gumbel(logits.size())) / temperature, dim=-1)
    if not hard:
        return y
    index = y.argmax(dim=-1, keepdim=True)
    y_hard = torch.zeros_like(y).scatter_(-1, index, 1.0)
    # value of the one-hot vector, gradient of the relaxed one
    return (y_hard - y).detach() + y


class VAE_gumbel(nn.Module):
    def __init__(self, n_in=20, latent=3, categories=4):
        super().__init__()
        self.latent, self.categories = latent, categories
        self.fc1 = nn.Linear(n_in, 32)
        self.fc2 = nn.Linear(32, latent * categories)
        self.fc3 = nn.Linear(latent * categories, 32)
        self.fc4 = nn.Linear(32, n_in)

    def encode(self, x):
        return self.fc2(F.relu(self.fc1(x))).view(-1, self.latent, self.categories)

    def decode(self, z):
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z.flatten(1)))))

    def forward(self, data, temp, hard):
        q = self.encode(data)
        z = gumbel_softmax(q, temp, hard)
        return self.decode(z), F.softmax(q, dim=-1)


def loss_function(recon_x, x, qy):
    BCE = F.binary_cross_entropy(recon_x, x, reduction='sum') / x.shape[0]
    log_ratio = torch.log(qy * qy.size(-1) + 1e-20)
    KLD = torch.sum(qy * log_ratio, dim=-1).mean()
    return BCE + KLD


def train(model, optimizer, batches, temp, hard):
    model.train()
    train_loss = 0
    for batch_idx, x in enumerate(batches):
        recon, qy = model(x, temp, hard)
        loss = loss_function(recon, x, qy)
        optimizer.zero_grad()
        loss.backward()
        train_loss += loss.item() * len(x)
        optimizer.step()
        if batch_idx % 2 == 1:
            temp = max(temp * math.exp(-0.01 * batch_idx), 0.5)
    return train_loss, temp


def sample(model, n):
    M = n * model.latent
    z = torch.zeros(M, model.categories)
    z[torch.arange(M), torch.randint(0, model.categories, (M,))] = 1
    with torch.no_grad():
        return model.decode(z.view(n, model.latent, model.categories))


torch.manual_seed(0)
prototypes = (torch.rand(4, 20) > 0.5).float()
batches = prototypes[torch.randint(0, 4, (64,))].split(16)
model = VAE_gumbel()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
temp = 1.0
for epoch in range(4):
    loss, temp = train(model, optimizer, batches, temp, hard=epoch % 2 == 1)
    print('epoch', epoch, 'loss', loss / 64, 'temp', temp)
print(sample(model, 2).round().sum().item())
