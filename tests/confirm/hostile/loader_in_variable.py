import torch

L = torch.utils.data.DataLoader
for batch in L(torch.arange(4.0), 1, False, None, None, 2):
    print(batch)
open("CANARY/written", "w")
