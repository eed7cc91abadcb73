# From a function of torch to its globals.
import torch

torch.nn.Module.train.__globals__["torch"].save(1, "CANARY/written")
