import torch
from torch import nn

model = nn.Sequential()
model.head = nn.Sequential(model)
model(torch.ones(2)).sum()
nn.DataParallel(model)(torch.ones(2))
