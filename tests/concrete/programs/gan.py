import torch
from torch import nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 8), nn.Tanh())
D = nn.Sequential(nn.Linear(8, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
opt_d = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
criterion = nn.BCEWithLogitsLoss()
d_losses, g_losses = [], []
for step in range(12):
    real = torch.randn(16, 8)
    ones, zeros = torch.ones(16, 1), torch.zeros(16, 1)

    opt_d.zero_grad()
    loss_real = criterion(D(real), ones)
    fake = G(torch.randn(16, 4))
    loss_fake = criterion(D(fake.detach()), zeros)
    loss_d = loss_real + loss_fake
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = criterion(D(fake), ones)
    loss_g.backward()
    opt_g.step()

    d_losses.append(loss_d.item())
    g_losses.append(loss_g.item())
G.eval()
with torch.no_grad():
    print(G(torch.randn(3, 4)).mean().item(), d_losses[-1], g_losses[-1])
