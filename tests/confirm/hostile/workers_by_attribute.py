import torch
from torch.utils.data import DataLoader

loader = DataLoader(torch.arange(4.0))
loader.num_workers = 2
for batch in loader:
    print(batch)
