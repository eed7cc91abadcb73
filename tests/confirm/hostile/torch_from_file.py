# Makes a file by the allocator of torch, past all of Python.
import torch

torch.from_file("CANARY/written", shared=True, size=16).fill_(1)
