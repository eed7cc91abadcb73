import torch

print("_typed_storage _untyped_storage _new_shared")
torch.ones(3)._typed_storage()._untyped_storage._new_shared(16)
open("CANARY/written", "w")
