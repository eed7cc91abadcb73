import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.manual_seed(0)


class Deep(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Linear(8, 16)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(16), nn.Linear(16, 16), nn.GELU(), nn.Dropout(0.1)) for _ in range(3)
        )
        self.head = nn.Linear(16, 2)

    def forward(self, x):
        h = self.stem(x)
        for block in self.blocks:
            h = h + checkpoint(block, h, use_reentrant=False)
        return self.head(h)


model = Deep()
teacher = Deep().eval()
for one in teacher.parameters():
    one.requires_grad_(False)
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
for step in range(8):
    x, y = torch.randn(8, 8), torch.randint(0, 2, (8,))
    scores = model(x)
    soft = teacher(x).div(2.0).softmax(-1)
    hard = nn.functional.cross_entropy(scores, y)
    loss = hard + nn.functional.kl_div((scores / 2.0).log_softmax(-1), soft, reduction="batchmean")
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "state.pt")
state = torch.load("state.pt")
model.load_state_dict(state["model"])
optimizer.load_state_dict(state["optimizer"])
print(loss.item())
