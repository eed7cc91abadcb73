import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.weights = nn.ParameterList([nn.Parameter(torch.ones(2)) for _ in range(2)])

    def forward(self, x, i):
        return x * self.weights[i]


net = Net()
net(torch.ones(2), int(input())).sum().backward()
