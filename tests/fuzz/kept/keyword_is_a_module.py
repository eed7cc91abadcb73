import torch
from torch import nn
torch.add_(**{nn: 1})
