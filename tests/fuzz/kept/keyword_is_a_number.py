import torch
from torch import nn
torch.ones(3).requires_grad_(**{3: 1})
