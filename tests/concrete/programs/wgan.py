import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh())
D = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=1e-4)
opt_d = torch.optim.Adam(D.parameters(), lr=1e-4)
for step in range(6):
    for _ in range(2):
        real = torch.randn(16, 8)
        with torch.no_grad():
            fake = G(torch.randn(16, 4))
        mix = torch.rand(16, 1)
        between = (mix * real + (1 - mix) * fake).requires_grad_(True)
        (slope,) = torch.autograd.grad(D(between).sum(), between, create_graph=True)
        penalty = ((slope.norm(2, dim=1) - 1) ** 2).mean()
        loss_d = D(fake).mean() - D(real).mean() + 10 * penalty
        opt_d.zero_grad()
        loss_d.backward()
        opt_d.step()
    opt_g.zero_grad()
    loss_g = -D(G(torch.randn(16, 4))).mean()
    loss_g.backward()
    opt_g.step()
print(loss_d.item(), loss_g.item())
