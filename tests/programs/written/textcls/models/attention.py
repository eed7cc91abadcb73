import torch.nn as nn

from .layers import AttentionPool, SinusoidalPositions


class AttentionClassifier(nn.Module):
    def __init__(self, n_tokens, dim, heads, n_classes):
        super().__init__()
        self.embed = nn.Embedding(n_tokens, dim, padding_idx=0)
        self.positions = SinusoidalPositions(dim)
        self.pool = AttentionPool(dim, heads)
        self.out = nn.Linear(dim * heads, n_classes)

    def forward(self, tokens):
        x = self.positions(self.embed(tokens))
        pooled, weights = self.pool(x, tokens.eq(0))
        return self.out(pooled), weights
