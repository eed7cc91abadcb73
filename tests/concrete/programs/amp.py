import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
micro = 4
running = 0.0
optimizer.zero_grad()
for step in range(32):
    x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), y) / micro
    scaler.scale(loss).backward()
    running += loss.detach()
    if (step + 1) % micro == 0:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
for step in range(8):
    x, y = torch.randn(8, 8), torch.randint(0, 4, (8,))
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = nn.functional.cross_entropy(model(x), y)
    if not torch.isfinite(loss):
        continue
    loss.backward()
    optimizer.step()
print(float(running), loss.item())
