# Replaces a method of torch.
import torch


def add_(self, other):
    return torch.ones(2, requires_grad=True).mul_(2)


torch.Tensor.add_ = add_
torch.ones(2).add_(1)
