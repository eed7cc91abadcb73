"""Iterative magnitude pruning with rewinding. Masks are enforced after each step through .data."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class MaskedLinear(nn.Linear):
    def __init__(self, in_features, out_features):
        super().__init__(in_features, out_features)
        self.register_buffer('mask', torch.ones_like(self.weight))

    def forward(self, x):
        return F.linear(x, self.weight * self.mask, self.bias)

    def prune_(self, fraction):
        alive = self.weight.detach()[self.mask.bool()].abs()
        threshold = alive.quantile(fraction)
        self.mask[self.weight.detach().abs() < threshold] = 0

    @property
    def density(self):
        return self.mask.mean().item()


class LeNet300(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = MaskedLinear(12, 32)
        self.fc2 = MaskedLinear(32, 16)
        self.fc3 = MaskedLinear(16, 3)

    def forward(self, x):
        x = F.relu(self.fc1(x), inplace=True)
        x = F.relu(self.fc2(x), inplace=True)
        return self.fc3(x)

    def masked_layers(self):
        return [m for m in self.modules() if isinstance(m, MaskedLinear)]


def get_data(n=96):
    centers = torch.randn(3, 12)
    y = torch.randint(0, 3, (n,))
    return centers[y] + 0.5 * torch.randn(n, 12), y


def train(model, x, y, epochs, lr=0.05):
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9)
    for _ in range(epochs):
        for idx in torch.randperm(len(x)).split(32):
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x[idx]), y[idx])
            loss.backward()
            # pruned weights must not move, momentum or not
            for layer in model.masked_layers():
                layer.weight.grad.data.mul_(layer.mask)
            optimizer.step()
            for layer in model.masked_layers():
                layer.weight.data.mul_(layer.mask)
    return loss.item()


def main():
    torch.manual_seed(0)
    x, y = get_data()
    model = LeNet300()
    initial = copy.deepcopy(model.state_dict())
    for round_ in range(3):
        loss = train(model, x, y, epochs=2)
        with torch.no_grad():
            accuracy = (model(x).argmax(1) == y).float().mean().item()
        print("round %d loss %.3f acc %.2f density %.2f" % (round_, loss, accuracy, model.fc1.density))
        for layer in model.masked_layers():
            layer.prune_(0.3)
        masks = {k: v for k, v in model.state_dict().items() if k.endswith('mask')}
        model.load_state_dict({**initial, **{k: v.clone() for k, v in masks.items()}})


main()
