import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, n, dim, extra=0):
        super().__init__()
        self.embedding = nn.Embedding(n, dim)
        self.project = nn.Sequential(nn.Linear(dim + extra, dim), nn.ReLU(), nn.Linear(dim, dim))

    def forward(self, ids, features=None):
        e = self.embedding(ids)
        if features is not None:
            e = torch.cat([e, features], dim=-1)
        return F.normalize(self.project(e), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, users, items, dim=16):
        super().__init__()
        self.user_tower = Tower(users, dim)
        self.item_tower = Tower(items, dim, extra=1)
        self.log_temperature = nn.Parameter(torch.tensor(0.0))
        self.register_buffer("popularity", torch.ones(items))

    def forward(self, batch):
        u = self.user_tower(batch["user"])
        v = self.item_tower(batch["item"], batch["price"].unsqueeze(-1))
        logits = u @ v.t() * self.log_temperature.exp()
        return logits - self.correction(batch["item"])

    def correction(self, items):
        frequency = self.popularity / self.popularity.sum()
        return frequency[items].log()

    @torch.no_grad()
    def count(self, items):
        self.popularity.index_add_(0, items, torch.ones_like(items, dtype=torch.float32))


def in_batch_softmax(logits):
    labels = torch.arange(logits.size(0), device=logits.device)
    return F.cross_entropy(logits, labels)
