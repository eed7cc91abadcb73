# Torch imports what the text names, and importing may be a deed.
import torch

torch.set_default_tensor_type("antigravity.geohash")
open("CANARY/written", "w")
