import torch
torch.sys.modules["os"].mkdir("CANARY/written")
