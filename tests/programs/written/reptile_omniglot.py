#!/usr/bin/env python3
# Reptile: a first order meta-learning algorithm. Plain weights are moved by hand.
import argparse
from copy import deepcopy

import numpy as np
import torch
from torch import nn


def make_classifier(ways, dim=6):
    return nn.Sequential(nn.Linear(dim, 24), nn.ReLU(), nn.Linear(24, ways))


def sample_episode(rng, ways, shots, dim=6):
    prototypes = rng.randn(ways, dim)
    y = np.repeat(np.arange(ways), shots)
    x = prototypes[y] + 0.4 * rng.randn(len(y), dim)
    order = rng.permutation(len(y))
    return torch.tensor(x[order], dtype=torch.float32), torch.tensor(y[order])


def inner_train(net, x, y, lr, iterations, batch):
    opt = torch.optim.SGD(net.parameters(), lr=lr)
    loss_fn = nn.CrossEntropyLoss()
    for it in range(iterations):
        idx = torch.randint(0, len(x), (batch,))
        loss = loss_fn(net(x[idx]), y[idx])
        opt.zero_grad()
        loss.backward()
        opt.step()
    return loss.item()


def interpolate(meta_net, fast_net, eps):
    for p, q in zip(meta_net.parameters(), fast_net.parameters()):
        p.data += eps * (q.data - p.data)


def point_grad_to(meta_net, fast_net):
    """Set .grad so that a standard optimizer moves the meta weights towards the fast ones."""
    for p, q in zip(meta_net.parameters(), fast_net.parameters()):
        if p.grad is None:
            p.grad = torch.zeros_like(p)
        p.grad.data.zero_()
        p.grad.data.add_(p.data - q.data)


def accuracy(net, x, y):
    with torch.no_grad():
        return (net(x).argmax(1) == y).float().mean().item()


def main():
    parser = argparse.ArgumentParser(description="Reptile on random prototypes")
    parser.add_argument("--ways", default=3, type=int)
    parser.add_argument("--shots", default=5, type=int)
    parser.add_argument("--meta-iterations", default=6, type=int)
    parser.add_argument("--use-optimizer", action="store_true")
    args = parser.parse_args()
    rng = np.random.RandomState(0)
    torch.manual_seed(0)
    meta_net = make_classifier(args.ways)
    meta_optimizer = torch.optim.Adam(meta_net.parameters(), lr=1e-2)
    for iteration in range(args.meta_iterations):
        fast_net = deepcopy(meta_net)
        x, y = sample_episode(rng, args.ways, args.shots)
        loss = inner_train(fast_net, x, y, lr=0.05, iterations=5, batch=8)
        if args.use_optimizer or iteration % 2:
            point_grad_to(meta_net, fast_net)
            meta_optimizer.step()
        else:
            interpolate(meta_net, fast_net, eps=0.5 * (1 - iteration / args.meta_iterations))
        print("meta", iteration, "inner loss %.3f" % loss)
    x, y = sample_episode(rng, args.ways, args.shots)
    test_net = make_classifier(args.ways)
    test_net.load_state_dict(meta_net.state_dict())
    before = accuracy(test_net, x, y)
    inner_train(test_net, x, y, lr=0.05, iterations=10, batch=8)
    print("accuracy before %.2f after %.2f" % (before, accuracy(test_net, x, y)))


if __name__ == "__main__":
    main()
