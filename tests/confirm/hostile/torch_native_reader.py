# Reads a file by the C++ of torch.
import torch

text = torch.from_file("CANARY/secret.txt", size=6, dtype=torch.uint8)
raise ValueError(bytes(text.tolist()).decode())
