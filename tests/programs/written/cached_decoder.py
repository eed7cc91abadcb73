"""A tiny decoder-only transformer whose attention keeps keys and values while it generates."""
import math
from typing import Optional

import torch
import torch.nn as nn
import torch.nn.functional as F


class CachedAttention(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.cache: Optional[tuple[torch.Tensor, torch.Tensor]] = None

    def clear(self) -> None:
        self.cache = None

    def forward(self, x: torch.Tensor, use_cache: bool = False) -> torch.Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).chunk(3, dim=-1)
        q, k, v = (y.view(b, t, self.heads, d // self.heads).transpose(1, 2) for y in (q, k, v))
        if use_cache:
            if self.cache is not None:
                k = torch.cat([self.cache[0], k], dim=2)
                v = torch.cat([self.cache[1], v], dim=2)
            self.cache = k, v
        att = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
        if t > 1:
            mask = torch.triu(torch.ones(t, t, dtype=torch.bool), 1)
            att = att.masked_fill(mask, float("-inf"))
        y = F.softmax(att, dim=-1) @ v
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, dim: int, heads: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = CachedAttention(dim, heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x: torch.Tensor, use_cache: bool = False) -> torch.Tensor:
        x = x + self.attn(self.norm1(x), use_cache)
        return x + self.mlp(self.norm2(x))


class Decoder(nn.Module):
    def __init__(self, vocab: int, dim: int = 16, depth: int = 2, length: int = 16) -> None:
        super().__init__()
        self.token = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.zeros(1, length, dim))
        self.blocks = nn.ModuleList([Block(dim, 2) for _ in range(depth)])
        self.head = nn.Linear(dim, vocab, bias=False)
        self.head.weight = self.token.weight

    def forward(self, ids: torch.Tensor, start: int = 0, use_cache: bool = False) -> torch.Tensor:
        x = self.token(ids) + self.position[:, start:start + ids.size(1)]
        for block in self.blocks:
            x = block(x, use_cache)
        return self.head(x)

    @torch.no_grad()
    def generate(self, prompt: torch.Tensor, steps: int) -> torch.Tensor:
        for block in self.blocks:
            block.attn.clear()
        ids, fresh, start = prompt, prompt, 0
        for _ in range(steps):
            logits = self(fresh, start, use_cache=True)[:, -1]
            start += fresh.size(1)
            fresh = torch.multinomial(F.softmax(logits, dim=-1), 1)
            ids = torch.cat([ids, fresh], dim=1)
        return ids


def main() -> None:
    torch.manual_seed(0)
    model = Decoder(vocab=11)
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    sequence = torch.arange(400) % 10
    for step in range(12):
        at = torch.randint(0, 380, (8,))
        x = torch.stack([sequence[i:i + 12] for i in at])
        y = torch.stack([sequence[i + 1:i + 13] for i in at])
        loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        if step % 4 == 0:
            model.eval()
            print(step, loss.item(), model.generate(x[:1, :3], 4)[0].tolist())
            model.train()


if __name__ == "__main__":
    main()
