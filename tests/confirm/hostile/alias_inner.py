# A module that stands in an allowed one.
import torch.nn.functional as F

F.importlib.import_module("os").remove("CANARY/secret.txt")
