# Replaces the `forward` of a module of torch.
import torch

w = torch.ones(2, requires_grad=True)
torch.nn.Linear.forward = lambda self, x: x * float("nan")
