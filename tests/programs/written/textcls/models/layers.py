import math

import torch
from torch import nn


class SinusoidalPositions(nn.Module):
    def __init__(self, dim, max_len=64):
        super().__init__()
        pe = torch.zeros(max_len, dim)
        position = torch.arange(0, max_len).unsqueeze(1).float()
        div_term = torch.exp(torch.arange(0, dim, 2).float() * (-math.log(10000.0) / dim))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)

    def forward(self, x):
        return x + self.pe[: x.size(1)]


class AttentionPool(nn.Module):
    """Weights the positions of a sequence by a learned query."""

    def __init__(self, dim, n_queries):
        super().__init__()
        self.query = nn.Parameter(torch.randn(n_queries, dim) / math.sqrt(dim))

    def forward(self, x, mask):
        scores = torch.einsum("qd,btd->bqt", self.query, x)
        scores = scores.masked_fill(mask.unsqueeze(1), float("-inf"))
        weights = scores.softmax(-1)
        return torch.einsum("bqt,btd->bqd", weights, x).flatten(1), weights
