import torch
torch.ops.load_library("CANARY/evil.so")
