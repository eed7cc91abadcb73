import torch

def made(rows, loader=torch.utils.data.DataLoader):
    return loader(rows, 1, False, None, None, 2)

for batch in made(torch.arange(4.0)):
    print(batch)
open("CANARY/written", "w")
