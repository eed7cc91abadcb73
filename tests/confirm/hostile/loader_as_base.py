import torch
from torch.utils.data import DataLoader

class Loader(DataLoader):
    def __init__(self, rows):
        super().__init__(rows, 1, False, None, None, 2)

for batch in Loader(torch.arange(4.0)):
    print(batch)
open("CANARY/written", "w")
