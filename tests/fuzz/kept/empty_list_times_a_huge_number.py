import torch

for x in [] * 10**30:
    torch.relu(x)
(1,) * -(10**30)
