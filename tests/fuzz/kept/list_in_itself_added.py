import torch
from torch import nn
w = torch.ones(3)
l = []
l.append(l)
w += l
