"""Bayesian personalised ranking and explicit ratings with matrix factorisation."""

from __future__ import annotations

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn, optim
from torch.utils.data import DataLoader, Dataset


class Ratings(Dataset):
    def __init__(self, n_users: int, n_items: int, n: int = 200, seed: int = 0) -> None:
        rng = np.random.default_rng(seed)
        self.users = torch.from_numpy(rng.integers(0, n_users, n))
        self.items = torch.from_numpy(rng.integers(0, n_items, n))
        taste_u, taste_i = rng.normal(size=(n_users, 2)), rng.normal(size=(n_items, 2))
        scores = (taste_u[self.users.numpy()] * taste_i[self.items.numpy()]).sum(1)
        self.ratings = torch.tensor(scores + 3.0, dtype=torch.float32)
        self.n_items = n_items

    def __len__(self) -> int:
        return len(self.users)

    def __getitem__(self, index: int):
        return self.users[index], self.items[index], self.ratings[index]


class MF(nn.Module):
    def __init__(self, n_users: int, n_items: int, dim: int = 4) -> None:
        super().__init__()
        self.user = nn.Embedding(n_users, dim, sparse=False)
        self.item = nn.Embedding(n_items, dim)
        self.user_bias = nn.Embedding(n_users, 1)
        self.item_bias = nn.Embedding(n_items, 1)
        self.mean = nn.Parameter(torch.zeros(1))
        self.user.weight.data.uniform_(0, 0.05)
        self.item.weight.data.uniform_(0, 0.05)
        self.user_bias.weight.data.zero_()
        self.item_bias.weight.data.zero_()

    def forward(self, u: torch.Tensor, i: torch.Tensor) -> torch.Tensor:
        dot = (self.user(u) * self.item(i)).sum(1)
        return dot + self.user_bias(u).squeeze(1) + self.item_bias(i).squeeze(1) + self.mean

    def bpr(self, u: torch.Tensor, i: torch.Tensor, j: torch.Tensor) -> torch.Tensor:
        return -F.logsigmoid(self(u, i) - self(u, j)).mean()


def rmse(model: MF, loader: DataLoader) -> float:
    model.eval()
    errors = []
    for u, i, r in loader:
        # no graph is kept: only numbers leave the loop
        errors.extend(((model(u, i) - r) ** 2).detach().numpy().ravel())
    return float(np.sqrt(np.mean(errors)))


def main() -> None:
    torch.manual_seed(0)
    data = Ratings(12, 15)
    loader = DataLoader(data, batch_size=32, shuffle=True)
    model = MF(12, 15)
    model.mean.data.fill_(data.ratings.mean().item())
    optimizer = optim.Adagrad(model.parameters(), lr=0.1)
    for epoch in range(4):
        model.train()
        total = 0.0
        for u, i, r in loader:
            prediction = model(u, i)
            loss = F.mse_loss(prediction, r)
            l2 = sum(p.pow(2).sum() for p in model.parameters())
            loss = loss + 1e-5 * l2
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            loss = loss.item()
            total += loss
        print(epoch, total / len(loader), rmse(model, loader))
    for u, i, _ in loader:
        j = torch.randint(0, data.n_items, i.shape)
        optimizer.zero_grad()
        model.bpr(u, i, j).backward()
        optimizer.step()


if __name__ == "__main__":
    main()
