"""Deep image prior: denoise one picture by fitting a network to it, with backtracking and averaging."""
from __future__ import print_function

import numpy as np
import torch
import torch.nn as nn
import torch.optim

OPTIMIZER = 'adam'
LR = 0.01
num_iter = 14
reg_noise_std = 1. / 30.
exp_weight = 0.9
show_every = 5


def conv(in_f, out_f):
    return nn.Sequential(nn.ReflectionPad2d(1), nn.Conv2d(in_f, out_f, 3), nn.BatchNorm2d(out_f),
                         nn.LeakyReLU(0.2, inplace=True))


class Concat(nn.Module):
    def __init__(self, dim, *args):
        super(Concat, self).__init__()
        self.dim = dim
        for idx, module in enumerate(args):
            self.add_module(str(idx), module)

    def forward(self, input):
        inputs = []
        for module in self._modules.values():
            inputs.append(module(input))
        shapes = [x.shape[2] for x in inputs]
        target = min(shapes)
        inputs_ = []
        for inp in inputs:
            diff = (inp.size(2) - target) // 2
            inputs_.append(inp[:, :, diff: diff + target, diff: diff + target])
        return torch.cat(inputs_, dim=self.dim)


def skip(in_f=4, width=6):
    deeper = nn.Sequential(nn.AvgPool2d(2), conv(in_f, width), conv(width, width),
                           nn.Upsample(scale_factor=2, mode='bilinear', align_corners=False))
    return nn.Sequential(Concat(1, nn.Conv2d(in_f, 2, 1), deeper), nn.BatchNorm2d(width + 2),
                         conv(width + 2, width), nn.Conv2d(width, 1, 1), nn.Sigmoid())


def compare_psnr(a, b):
    return 10 * np.log10(1.0 / max(np.mean((a - b) ** 2), 1e-12))


def get_params(opt_over, net, net_input):
    params = []
    for opt in opt_over.split(','):
        if opt == 'net':
            params += [x for x in net.parameters()]
        elif opt == 'input':
            net_input.requires_grad = True
            params += [net_input]
    return params


def optimize(optimizer_type, parameters, closure, LR, num_iter):
    if optimizer_type == 'adam':
        optimizer = torch.optim.Adam(parameters, lr=LR)
        for j in range(num_iter):
            optimizer.zero_grad()
            closure()
            optimizer.step()


torch.manual_seed(0)
np.random.seed(0)
img_np = np.zeros((1, 16, 16), dtype=np.float32)
img_np[:, 4:12, 4:12] = 0.8
img_noisy_np = np.clip(img_np + np.random.normal(scale=0.1, size=img_np.shape), 0, 1).astype(np.float32)
img_noisy_torch = torch.from_numpy(img_noisy_np)[None]
net = skip()
net_input = torch.zeros(1, 4, 16, 16)
net_input.uniform_()
net_input *= 0.1
net_input_saved = net_input.detach().clone()
noise = net_input.detach().clone()
mse = nn.MSELoss()
out_avg = None
last_net = None
psrn_noisy_last = 0
i = 0


def closure():
    global i, out_avg, psrn_noisy_last, last_net, net_input
    if reg_noise_std > 0:
        net_input = net_input_saved + (noise.normal_() * reg_noise_std)
    out = net(net_input)
    # Smoothing
    if out_avg is None:
        out_avg = out.detach()
    else:
        out_avg = out_avg * exp_weight + out.detach() * (1 - exp_weight)
    total_loss = mse(out, img_noisy_torch)
    total_loss.backward()
    psrn_noisy = compare_psnr(img_noisy_np, out.detach().cpu().numpy()[0])
    # Backtracking
    if i % show_every == 0:
        print('Iteration %05d Loss %f PSNR_noisy: %f' % (i, total_loss.item(), psrn_noisy))
        if psrn_noisy - psrn_noisy_last < -5:
            print('Falling back to previous checkpoint.')
            for new_param, param in zip(last_net, net.parameters()):
                param.data.copy_(new_param)
            return total_loss * 0
        else:
            last_net = [x.detach().cpu().clone() for x in net.parameters()]
            psrn_noisy_last = psrn_noisy
    i += 1
    return total_loss


p = get_params('net', net, net_input)
optimize(OPTIMIZER, p, closure, LR, num_iter)
print(compare_psnr(img_np, out_avg.numpy()[0]))
