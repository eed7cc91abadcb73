import torch
from torch.utils.data import DataLoader

for batch in DataLoader(torch.arange(4.0), 1, False, None, None, 2):
    print(batch)
