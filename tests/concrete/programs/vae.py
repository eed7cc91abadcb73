import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
data = torch.rand(40, 20)


class VAE(nn.Module):
    def __init__(self):
        super().__init__()
        self.enc = nn.Linear(20, 16)
        self.mean, self.logvar = nn.Linear(16, 4), nn.Linear(16, 4)
        self.dec1, self.dec2 = nn.Linear(4, 16), nn.Linear(16, 20)

    def encode(self, x):
        h = torch.relu(self.enc(x))
        return self.mean(h), self.logvar(h)

    def sample(self, mean, logvar):
        std = torch.exp(0.5 * logvar)
        return mean + std * torch.randn_like(std)

    def decode(self, z):
        return torch.sigmoid(self.dec2(torch.relu(self.dec1(z))))

    def forward(self, x):
        mean, logvar = self.encode(x)
        return self.decode(self.sample(mean, logvar)), mean, logvar


def loss_of(output, x, mean, logvar):
    bce = F.binary_cross_entropy(output, x, reduction="sum")
    kld = -0.5 * torch.sum(1 + logvar - mean.pow(2) - logvar.exp())
    return bce + kld


model = VAE()
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
history = []
for epoch in range(4):
    model.train()
    for x in data.split(10):
        output, mean, logvar = model(x)
        loss = loss_of(output, x, mean, logvar)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(loss.item())
model.eval()
with torch.no_grad():
    z = torch.randn(5, 4)
    print(model.decode(z).mean().item(), sum(history) / len(history))
