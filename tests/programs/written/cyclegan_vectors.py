"""CycleGAN between two clouds of points, with image buffers and two optimizers."""
import itertools
import random

import torch
import torch.nn as nn


def set_requires_grad(nets, requires_grad=False):
    if not isinstance(nets, list):
        nets = [nets]
    for net in nets:
        if net is not None:
            for param in net.parameters():
                param.requires_grad = requires_grad


class ImagePool():
    """Stores previously generated samples so that the discriminator sees a history."""

    def __init__(self, pool_size):
        self.pool_size = pool_size
        self.images = []

    def query(self, images):
        out = []
        for image in images:
            image = torch.unsqueeze(image.data, 0)
            if len(self.images) < self.pool_size:
                self.images.append(image)
                out.append(image)
            elif random.uniform(0, 1) > 0.5:
                k = random.randint(0, self.pool_size - 1)
                tmp = self.images[k].clone()
                self.images[k] = image
                out.append(tmp)
            else:
                out.append(image)
        return torch.cat(out, 0)


def generator():
    return nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 2))


def discriminator():
    return nn.Sequential(nn.Linear(2, 16), nn.LeakyReLU(0.2, True), nn.Linear(16, 1))


class GANLoss(nn.Module):
    def __init__(self):
        super(GANLoss, self).__init__()
        self.register_buffer('real_label', torch.tensor(1.0))
        self.register_buffer('fake_label', torch.tensor(0.0))
        self.loss = nn.MSELoss()

    def __call__(self, prediction, target_is_real):
        target = self.real_label if target_is_real else self.fake_label
        return self.loss(prediction, target.expand_as(prediction))


class CycleGANModel:
    def __init__(self, lr=2e-4, lambda_cycle=10.0, lambda_idt=0.5):
        self.netG_A, self.netG_B = generator(), generator()
        self.netD_A, self.netD_B = discriminator(), discriminator()
        self.fake_A_pool, self.fake_B_pool = ImagePool(8), ImagePool(8)
        self.criterionGAN = GANLoss()
        self.criterionCycle = nn.L1Loss()
        self.lambda_cycle, self.lambda_idt = lambda_cycle, lambda_idt
        self.optimizer_G = torch.optim.Adam(itertools.chain(self.netG_A.parameters(), self.netG_B.parameters()), lr=lr)
        self.optimizer_D = torch.optim.Adam(itertools.chain(self.netD_A.parameters(), self.netD_B.parameters()), lr=lr)
        self.loss_names = ['D_A', 'D_B', 'G', 'cycle']

    def set_input(self, a, b):
        self.real_A, self.real_B = a, b

    def forward(self):
        self.fake_B = self.netG_A(self.real_A)
        self.rec_A = self.netG_B(self.fake_B)
        self.fake_A = self.netG_B(self.real_B)
        self.rec_B = self.netG_A(self.fake_A)

    def backward_D_basic(self, netD, real, fake):
        loss_D_real = self.criterionGAN(netD(real), True)
        loss_D_fake = self.criterionGAN(netD(fake.detach()), False)
        loss_D = (loss_D_real + loss_D_fake) * 0.5
        loss_D.backward()
        return loss_D

    def backward_G(self):
        idt = self.criterionCycle(self.netG_A(self.real_B), self.real_B)
        self.loss_cycle = self.criterionCycle(self.rec_A, self.real_A) + self.criterionCycle(self.rec_B, self.real_B)
        adversarial = self.criterionGAN(self.netD_A(self.fake_B), True) + self.criterionGAN(self.netD_B(self.fake_A), True)
        self.loss_G = adversarial + self.lambda_cycle * (self.loss_cycle + self.lambda_idt * idt)
        self.loss_G.backward()

    def optimize_parameters(self):
        self.forward()
        set_requires_grad([self.netD_A, self.netD_B], False)
        self.optimizer_G.zero_grad()
        self.backward_G()
        self.optimizer_G.step()
        set_requires_grad([self.netD_A, self.netD_B], True)
        self.optimizer_D.zero_grad()
        self.loss_D_A = self.backward_D_basic(self.netD_A, self.real_B, self.fake_B_pool.query(self.fake_B))
        self.loss_D_B = self.backward_D_basic(self.netD_B, self.real_A, self.fake_A_pool.query(self.fake_A))
        self.optimizer_D.step()

    def get_current_losses(self):
        return {name: float(getattr(self, 'loss_' + name)) for name in self.loss_names}


random.seed(1)
torch.manual_seed(1)
model = CycleGANModel()
for i in range(5):
    model.set_input(torch.randn(12, 2), torch.randn(12, 2) * 0.3 + 2)
    model.optimize_parameters()
    print(i, model.get_current_losses())
