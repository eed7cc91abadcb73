"""Unsupervised domain adaptation with a gradient reversal layer."""
from itertools import cycle

import numpy as np
import torch
import torch.nn as nn
from torch.autograd import Function


class ReverseLayerF(Function):
    @staticmethod
    def forward(ctx, x, alpha):
        ctx.alpha = alpha
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad_output):
        output = grad_output.neg() * ctx.alpha
        return output, None


class DANN(nn.Module):
    def __init__(self, n_features=4, n_classes=2):
        super(DANN, self).__init__()
        self.feature = nn.Sequential()
        self.feature.add_module('f_fc1', nn.Linear(n_features, 16))
        self.feature.add_module('f_bn1', nn.BatchNorm1d(16))
        self.feature.add_module('f_relu1', nn.ReLU(True))
        self.class_classifier = nn.Sequential(nn.Linear(16, 16), nn.ReLU(True), nn.Linear(16, n_classes), nn.LogSoftmax(dim=1))
        self.domain_classifier = nn.Sequential(nn.Linear(16, 8), nn.ReLU(True), nn.Linear(8, 2), nn.LogSoftmax(dim=1))

    def forward(self, input_data, alpha):
        feature = self.feature(input_data)
        reverse_feature = ReverseLayerF.apply(feature, alpha)
        return self.class_classifier(feature), self.domain_classifier(reverse_feature)


def domain(n, shift, seed):
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(n, 4, generator=g)
    y = (x[:, 0] + 0.5 * x[:, 1] > 0).long()
    return list(zip((x + shift).split(12), y.split(12)))


torch.manual_seed(0)
source, target = domain(60, 0.0, 1), domain(36, 1.0, 2)
my_net = DANN()
for p in my_net.parameters():
    p.requires_grad = True
optimizer = torch.optim.Adam(my_net.parameters(), lr=1e-3)
loss_class = torch.nn.NLLLoss()
loss_domain = torch.nn.NLLLoss()
n_epoch = 3
for epoch in range(n_epoch):
    len_dataloader = len(source)
    for i, ((s_img, s_label), (t_img, _)) in enumerate(zip(source, cycle(target))):
        p = float(i + epoch * len_dataloader) / n_epoch / len_dataloader
        alpha = 2. / (1. + np.exp(-10 * p)) - 1
        my_net.zero_grad()
        domain_label = torch.zeros(len(s_img)).long()
        class_output, domain_output = my_net(input_data=s_img, alpha=alpha)
        err_s_label = loss_class(class_output, s_label)
        err_s_domain = loss_domain(domain_output, domain_label)
        domain_label = torch.ones(len(t_img)).long()
        _, domain_output = my_net(input_data=t_img, alpha=alpha)
        err_t_domain = loss_domain(domain_output, domain_label)
        err = err_t_domain + err_s_domain + err_s_label
        err.backward()
        optimizer.step()
    print('epoch: %d, err_s_label: %f, err_s_domain: %f, err_t_domain: %f' % (
        epoch, err_s_label.data.cpu().numpy(), err_s_domain.data.cpu().numpy(), err_t_domain.data.cpu().item()))

my_net.eval()
n_correct = 0
for t_img, t_label in target:
    class_output, _ = my_net(input_data=t_img, alpha=0)
    pred = class_output.data.max(1, keepdim=True)[1]
    n_correct += pred.eq(t_label.data.view_as(pred)).cpu().sum()
print('accuracy of the target domain: %f' % (n_correct.data.numpy() * 1.0 / 36))
