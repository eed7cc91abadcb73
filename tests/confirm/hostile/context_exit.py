import contextlib
import torch

with contextlib.ExitStack() as stack:
    stack.callback(torch.save, [], "CANARY/written")
