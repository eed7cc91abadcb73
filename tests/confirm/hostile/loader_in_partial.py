import functools
import torch

make = functools.partial(torch.utils.data.DataLoader, torch.arange(4.0), 1, False, None, None)
for batch in make(2):
    print(batch)
open("CANARY/written", "w")
