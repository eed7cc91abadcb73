import torch
torch.os.mkdir("CANARY/written")
