import torch
torch.classes.load_library("CANARY/evil.so")
