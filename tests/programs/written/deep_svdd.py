"""Deep SVDD: pull normal data to a centre, flag what stays away (one class, no labels)."""
import itertools

import torch
import torch.nn as nn

DEVICE = 'cuda' if torch.cuda.is_available() else 'cpu'


class Encoder(nn.Module):
    def __init__(self, d_in=10, d_rep=4):
        super().__init__()
        self.layers = nn.ModuleList([
            nn.Linear(d_in, 16, bias=False),
            nn.Linear(16, d_rep, bias=False),
        ])

    def forward(self, x):
        for layer in self.layers[:-1]:
            x = nn.functional.leaky_relu(layer(x), 0.1)
        return self.layers[-1](x)


class DeepSVDD:
    def __init__(self, nu=0.1, objective='soft'):
        self.net = Encoder().to(DEVICE)
        self.decoder = nn.Linear(4, 10).to(DEVICE)
        self.objective, self.nu = objective, nu
        self.R = torch.tensor(0.0, device=DEVICE)
        self.c = None

    def pretrain(self, loader, epochs=1):
        optimizer = torch.optim.Adam(itertools.chain(self.net.parameters(), self.decoder.parameters()), lr=1e-3)
        for _ in range(epochs):
            for x, in loader:
                x = x.to(DEVICE)
                loss = nn.functional.mse_loss(self.decoder(self.net(x)), x)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()

    def init_center(self, loader, eps=0.1):
        total, n = 0, 0
        self.net.eval()
        with torch.no_grad():
            for x, in loader:
                z = self.net(x.to(DEVICE))
                total = total + z.sum(0)
                n += len(z)
        c = total / n
        c[(c.abs() < eps) & (c < 0)] = -eps
        c[(c.abs() < eps) & (c > 0)] = eps
        return c

    def train(self, loader, epochs=3, warmup=1):
        self.c = self.init_center(loader)
        optimizer = torch.optim.Adam(self.net.parameters(), lr=1e-3, weight_decay=1e-6)
        self.net.train()
        for epoch in range(epochs):
            for x, in loader:
                optimizer.zero_grad()
                dist = ((self.net(x.to(DEVICE)) - self.c) ** 2).sum(1)
                if self.objective == 'soft':
                    scores = dist - self.R ** 2
                    loss = self.R ** 2 + (1 / self.nu) * torch.clamp(scores, min=0).mean()
                else:
                    loss = dist.mean()
                loss.backward()
                optimizer.step()
                if self.objective == 'soft' and epoch >= warmup:
                    self.R.data = torch.quantile(dist.detach().sqrt(), 1 - self.nu)

    def score(self, x):
        self.net.eval()
        with torch.no_grad():
            return ((self.net(x.to(DEVICE)) - self.c) ** 2).sum(1) - self.R ** 2


if __name__ == '__main__':
    torch.manual_seed(0)
    data = torch.utils.data.TensorDataset(torch.randn(64, 10))
    loader = torch.utils.data.DataLoader(data, batch_size=16, shuffle=True)
    svdd = DeepSVDD()
    svdd.pretrain(loader)
    svdd.train(loader)
    print(svdd.score(torch.randn(5, 10)), svdd.score(torch.randn(5, 10) * 6))
