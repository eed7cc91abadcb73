import math

import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
tokens = torch.randint(0, 20, (600,))


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.proj = nn.Linear(width, width)
        self.drop = nn.Dropout(0.1)
        self.register_buffer("mask", torch.tril(torch.ones(32, 32)).view(1, 1, 32, 32))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(x).split(c, dim=2)
        q, k, v = (one.view(b, t, self.heads, c // self.heads).transpose(1, 2) for one in (q, k, v))
        scores = q @ k.transpose(-2, -1) / math.sqrt(k.size(-1))
        scores = scores.masked_fill(self.mask[:, :, :t, :t] == 0, float("-inf"))
        weights = self.drop(F.softmax(scores, dim=-1))
        return self.proj((weights @ v).transpose(1, 2).reshape(b, t, c))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln1, self.ln2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, 2)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        x = x + self.attention(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self, width=16):
        super().__init__()
        self.token, self.position = nn.Embedding(20, width), nn.Embedding(32, width)
        self.blocks = nn.ModuleList([Block(width) for _ in range(2)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, 20, bias=False)
        self.token.weight = self.head.weight

    def forward(self, x, targets=None):
        h = self.token(x) + self.position(torch.arange(x.size(1)))
        for block in self.blocks:
            h = block(h)
        scores = self.head(self.norm(h))
        loss = None if targets is None else F.cross_entropy(scores.view(-1, 20), targets.view(-1))
        return scores, loss


def batch():
    starts = torch.randint(0, len(tokens) - 33, (4,))
    x = torch.stack([tokens[i : i + 32] for i in starts])
    y = torch.stack([tokens[i + 1 : i + 33] for i in starts])
    return x, y


@torch.no_grad()
def estimate(model):
    model.eval()
    losses = torch.zeros(3)
    for k in range(3):
        _, loss = model(*batch())
        losses[k] = loss.item()
    model.train()
    return losses.mean()


model = GPT()
decay = [one for one in model.parameters() if one.dim() >= 2]
rest = [one for one in model.parameters() if one.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=1e-3)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 12)
for step in range(12):
    if step % 4 == 0:
        print(step, estimate(model).item())
    for micro in range(2):
        _, loss = model(*batch())
        (loss / 2).backward()
    norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    scheduler.step()
    optimizer.zero_grad(set_to_none=True)
