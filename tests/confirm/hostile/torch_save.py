# Writes a file by torch.
import torch

torch.save(torch.ones(2), "CANARY/written")
