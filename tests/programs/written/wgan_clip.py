"""The original WGAN: RMSprop, weight clipping, several critic steps per generator step."""
from __future__ import print_function

import argparse
import random

import torch
import torch.nn as nn
import torch.optim as optim
from torch.autograd import Variable

parser = argparse.ArgumentParser()
parser.add_argument('--nz', type=int, default=5)
parser.add_argument('--niter', type=int, default=2)
parser.add_argument('--lrD', type=float, default=0.0005)
parser.add_argument('--lrG', type=float, default=0.0005)
parser.add_argument('--clamp_lower', type=float, default=-0.05)
parser.add_argument('--clamp_upper', type=float, default=0.05)
parser.add_argument('--Diters', type=int, default=2)
opt = parser.parse_args()
random.seed(0)
torch.manual_seed(0)
dataset = [torch.randn(16, 2) * 0.2 + 1 for _ in range(6)]


def weights_init(m):
    classname = m.__class__.__name__
    if classname.find('Linear') != -1:
        m.weight.data.normal_(0.0, 0.2)
        m.bias.data.fill_(0)


netG = nn.Sequential(nn.Linear(opt.nz, 16), nn.ReLU(True), nn.Linear(16, 2))
netD = nn.Sequential(nn.Linear(2, 16), nn.ReLU(True), nn.Linear(16, 1))
netG.apply(weights_init)
netD.apply(weights_init)
input = torch.FloatTensor(16, 2)
noise = torch.FloatTensor(16, opt.nz)
fixed_noise = torch.FloatTensor(16, opt.nz).normal_(0, 1)
one = torch.FloatTensor([1])
mone = one * -1
optimizerD = optim.RMSprop(netD.parameters(), lr=opt.lrD)
optimizerG = optim.RMSprop(netG.parameters(), lr=opt.lrG)

gen_iterations = 0
for epoch in range(opt.niter):
    data_iter = iter(dataset)
    i = 0
    while i < len(dataset):
        # (1) Update D network
        for p in netD.parameters():  # reset requires_grad
            p.requires_grad = True  # they are set to False below in netG update
        j = 0
        while j < opt.Diters and i < len(dataset):
            j += 1
            # clamp parameters to a cube
            for p in netD.parameters():
                p.data.clamp_(opt.clamp_lower, opt.clamp_upper)
            real_cpu = next(data_iter)
            i += 1
            netD.zero_grad()
            input.resize_as_(real_cpu).copy_(real_cpu)
            errD_real = netD(input).mean(0).view(1)
            errD_real.backward(one)
            # train with fake
            noise.resize_(16, opt.nz).normal_(0, 1)
            with torch.no_grad():
                fake = netG(noise)
            inputv = Variable(fake.data)
            errD_fake = netD(inputv).mean(0).view(1)
            errD_fake.backward(mone)
            errD = errD_real - errD_fake
            optimizerD.step()
        # (2) Update G network
        for p in netD.parameters():
            p.requires_grad = False  # to avoid computation
        netG.zero_grad()
        noise.resize_(16, opt.nz).normal_(0, 1)
        fake = netG(noise)
        errG = netD(fake).mean(0).view(1)
        errG.backward(one)
        optimizerG.step()
        gen_iterations += 1
        print('[%d/%d][%d] Loss_D: %f Loss_G: %f Loss_D_real: %f Loss_D_fake %f' % (
            epoch, opt.niter, gen_iterations, errD.data[0], errG.data[0], errD_real.data[0], errD_fake.data[0]))
print(netG(fixed_noise).data.mean(0).tolist())
