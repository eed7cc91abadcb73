"""A GAN with a hand-written spectral norm: power iteration on buffers, weights recomputed in each forward."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import Parameter


def l2normalize(v, eps=1e-12):
    return v / (v.norm() + eps)


class SpectralNorm(nn.Module):
    def __init__(self, module, name='weight', power_iterations=1):
        super(SpectralNorm, self).__init__()
        self.module = module
        self.name = name
        self.power_iterations = power_iterations
        if not self._made_params():
            self._make_params()

    def _update_u_v(self):
        u = getattr(self.module, self.name + "_u")
        v = getattr(self.module, self.name + "_v")
        w = getattr(self.module, self.name + "_bar")
        height = w.data.shape[0]
        for _ in range(self.power_iterations):
            v.data = l2normalize(torch.mv(torch.t(w.view(height, -1).data), u.data))
            u.data = l2normalize(torch.mv(w.view(height, -1).data, v.data))
        sigma = u.clone().dot(w.view(height, -1).mv(v.clone()))
        setattr(self.module, self.name, w / sigma.expand_as(w))

    def _made_params(self):
        return hasattr(self.module, self.name + "_bar")

    def _make_params(self):
        w = getattr(self.module, self.name)
        height = w.data.shape[0]
        width = w.view(height, -1).data.shape[1]
        u = Parameter(w.data.new(height).normal_(0, 1), requires_grad=False)
        v = Parameter(w.data.new(width).normal_(0, 1), requires_grad=False)
        u.data = l2normalize(u.data)
        v.data = l2normalize(v.data)
        w_bar = Parameter(w.data)
        del self.module._parameters[self.name]
        self.module.register_parameter(self.name + "_u", u)
        self.module.register_parameter(self.name + "_v", v)
        self.module.register_parameter(self.name + "_bar", w_bar)

    def forward(self, *args):
        self._update_u_v()
        return self.module.forward(*args)


class Discriminator(nn.Module):
    def __init__(self):
        super().__init__()
        self.l1 = SpectralNorm(nn.Linear(2, 24))
        self.l2 = SpectralNorm(nn.Linear(24, 24))
        self.out = SpectralNorm(nn.Linear(24, 1))

    def forward(self, x):
        x = F.leaky_relu(self.l1(x), 0.1, inplace=True)
        x = F.leaky_relu(self.l2(x), 0.1, inplace=True)
        return self.out(x)


def main():
    torch.manual_seed(0)
    gen = nn.Sequential(nn.Linear(4, 24), nn.ReLU(inplace=True), nn.Linear(24, 2))
    dis = Discriminator()
    opt_g = torch.optim.Adam(gen.parameters(), lr=1e-3, betas=(0.0, 0.9))
    opt_d = torch.optim.Adam(filter(lambda p: p.requires_grad, dis.parameters()), lr=1e-3, betas=(0.0, 0.9))
    for step in range(10):
        real = torch.randn(16, 2) * 0.1 + torch.tensor([1.0, -1.0])
        fake = gen(torch.randn(16, 4))
        opt_d.zero_grad()
        disc_loss = F.relu(1.0 - dis(real)).mean() + F.relu(1.0 + dis(fake.detach())).mean()
        disc_loss.backward()
        opt_d.step()
        # the fakes are those from before; only the generator made them, and it has not moved
        opt_g.zero_grad()
        gen_loss = -dis(fake).mean()
        gen_loss.backward()
        opt_g.step()
        if step % 5 == 0:
            print(step, disc_loss.item(), gen_loss.item())
    top = torch.linalg.svdvals(dis.l2.module.weight.detach())[0]
    print("largest singular value", top.item())


main()
