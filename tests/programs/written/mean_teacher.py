"""Mean teacher: semi-supervised learning with an exponential moving average of the weights."""
import argparse
import itertools

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

global_step = 0


def create_model(ema=False):
    model = nn.Sequential(nn.Linear(6, 24), nn.BatchNorm1d(24), nn.ReLU(), nn.Dropout(0.2), nn.Linear(24, 3))
    if ema:
        for param in model.parameters():
            param.detach_()
    return model


def update_ema_variables(model, ema_model, alpha, global_step):
    # Use the true average until the exponential average is more correct
    alpha = min(1 - 1 / (global_step + 1), alpha)
    for ema_param, param in zip(ema_model.parameters(), model.parameters()):
        ema_param.data.mul_(alpha).add_(param.data, alpha=1 - alpha)


def sigmoid_rampup(current, rampup_length):
    if rampup_length == 0:
        return 1.0
    current = np.clip(current, 0.0, rampup_length)
    phase = 1.0 - current / rampup_length
    return float(np.exp(-5.0 * phase * phase))


class AverageMeter:
    def __init__(self):
        self.val = self.sum = self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n

    @property
    def avg(self):
        return self.sum / max(self.count, 1)


def softmax_mse_loss(input_logits, target_logits):
    assert input_logits.size() == target_logits.size()
    return F.mse_loss(F.softmax(input_logits, dim=1), F.softmax(target_logits, dim=1))


def train(labeled, unlabeled, model, ema_model, optimizer, epoch, args):
    global global_step
    class_meter, cons_meter = AverageMeter(), AverageMeter()
    model.train()
    ema_model.train()
    for (x, y), u in zip(labeled, itertools.cycle(unlabeled)):
        noisy = torch.cat([x, u])
        model_out = model(noisy + 0.1 * torch.randn_like(noisy))
        ema_logit = ema_model(noisy + 0.1 * torch.randn_like(noisy))
        ema_logit = ema_logit.detach()
        class_loss = F.cross_entropy(model_out[:len(x)], y)
        weight = args.consistency * sigmoid_rampup(epoch, args.consistency_rampup)
        consistency_loss = weight * softmax_mse_loss(model_out, ema_logit)
        loss = class_loss + consistency_loss
        assert not (np.isnan(loss.item()) or loss.item() > 1e5), 'Loss explosion'
        class_meter.update(class_loss.item(), len(x))
        cons_meter.update(consistency_loss.item(), len(noisy))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        global_step += 1
        update_ema_variables(model, ema_model, args.ema_decay, global_step)
    return class_meter.avg, cons_meter.avg


def validate(x, y, model):
    model.eval()
    with torch.no_grad():
        return (model(x).argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--epochs', type=int, default=3)
    parser.add_argument('--consistency', type=float, default=1.0)
    parser.add_argument('--consistency-rampup', type=int, default=2)
    parser.add_argument('--ema-decay', type=float, default=0.9)
    args = parser.parse_args()
    torch.manual_seed(0)
    centers = 2 * torch.randn(3, 6)
    y = torch.randint(0, 3, (48,))
    x = centers[y] + torch.randn(48, 6)
    labeled = list(zip(x[:16].split(8), y[:16].split(8)))
    unlabeled = x[16:].split(8)
    model, ema_model = create_model(), create_model(ema=True)
    optimizer = torch.optim.SGD(model.parameters(), 0.05, momentum=0.9, nesterov=True)
    for epoch in range(args.epochs):
        print(epoch, train(labeled, unlabeled, model, ema_model, optimizer, epoch, args), validate(x, y, ema_model))


if __name__ == '__main__':
    main()
