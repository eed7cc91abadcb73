from collections import Counter

import torch
import torch.nn.functional as F

from segkit.losses import Criterion, boundary, confusion, dice
from segkit.net import SegNet


def batches(n, size=4, seed=0):
    g = torch.Generator().manual_seed(seed)
    for _ in range(n):
        target = torch.zeros(size, 12, 12, dtype=torch.long)
        target[:, 3:9, 3:9] = 1
        target[:, 5:7] = 2
        yield target[:, None].float() / 2 + 0.3 * torch.randn(size, 1, 12, 12, generator=g), target


def poly(optimizer, total):
    return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda i: (1 - i / (total + 1)) ** 0.9)


def train(net, criterion, iterations=6):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)
    scheduler = poly(optimizer, iterations)
    log = Counter()
    net.train()
    for image, target in batches(iterations):
        loss, parts = criterion(net(image), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        scheduler.step()
        log.update({name: float(value) for name, value in parts.items()})
    return {name: value / iterations for name, value in log.items()}


@torch.no_grad()
def miou(net, classes=3):
    net.eval()
    matrix = sum(confusion(net(image)["main"], target, classes) for image, target in batches(2, seed=7))
    inter = matrix.diagonal()
    return (inter / (matrix.sum(0) + matrix.sum(1) - inter).clamp(min=1)).mean().item()


def main():
    torch.manual_seed(0)
    net = SegNet()
    criterion = Criterion(ce=(F.cross_entropy, 1.0), dice=(dice, 0.5), edge=(boundary, 0.1))
    print(train(net, criterion))
    print("mIoU", miou(net))
    return net


if __name__ == "__main__":
    net = main()
