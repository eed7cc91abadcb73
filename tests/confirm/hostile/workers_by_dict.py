import torch
from torch.utils.data import DataLoader

options = {"num_workers": 2}
for batch in DataLoader(torch.arange(4.0), **options):
    print(batch)
