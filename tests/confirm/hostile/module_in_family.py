# A name in capitals among classes is a module.
import torch

F = torch.nn.modules.linear.F
print("importlib import_module mkdir")
F.importlib.import_module("os").mkdir("CANARY/written")
