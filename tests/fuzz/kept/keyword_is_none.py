import torch
from torch import nn
torch.ones(3, **{None: 1})
