import torch
from torch import nn
l = []
l.append(l)
torch.stack(l)
