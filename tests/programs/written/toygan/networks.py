from torch import nn


def init_weights(module, gain=0.02):
    for m in module.modules():
        if isinstance(m, nn.Linear):
            nn.init.normal_(m.weight, 0.0, gain * 10)
            nn.init.zeros_(m.bias)
    return module


class Generator(nn.Module):
    def __init__(self, latent, out, width=16):
        super().__init__()
        self.latent = latent
        self.net = nn.Sequential(nn.Linear(latent, width), nn.ReLU(inplace=True), nn.Linear(width, out))

    def forward(self, z):
        return self.net(z)


class Discriminator(nn.Module):
    def __init__(self, n_in, width=16):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(n_in, width), nn.LeakyReLU(0.2, inplace=True), nn.Linear(width, 1))

    def forward(self, x):
        return self.net(x).squeeze(1)
