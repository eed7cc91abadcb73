import torch
x = torch.ones(2)
x.untyped_storages().filename
x.save_("CANARY/written")
