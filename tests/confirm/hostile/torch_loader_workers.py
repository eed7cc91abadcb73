# Starts processes by a loader.
import torch
from torch.utils.data import DataLoader, TensorDataset

for batch in DataLoader(TensorDataset(torch.ones(4)), num_workers=2):
    print(batch)
