import torch
from torch.utils.data import DataLoader
loader = DataLoader(torch.arange(4.0), collate_fn=lambda rows: torch.save(rows, "CANARY/written"))
next(iter(loader))
