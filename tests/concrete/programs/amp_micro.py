import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(6)


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x):
        return x + self.mlp(self.norm(x))


model = nn.Sequential(nn.Linear(12, 24), Block(24), Block(24), nn.Linear(24, 5))
optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
warmup, micro = 6, 4
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: min(1.0, (step + 1) / warmup))
inputs, targets = torch.randn(8 * 16, 12), torch.randint(5, (8 * 16,))
running = 0.0
optimizer.zero_grad()
for epoch in range(4):
    for number, (x, y) in enumerate(zip(inputs.split(8), targets.split(8))):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = F.cross_entropy(model(x), y)
            loss = loss / micro
        loss.backward()
        running += loss.item()
        if (number + 1) % micro == 0:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
print(running)
