import torch
layer = torch.nn.Linear(2, 2)
layer.register_forward_hook(lambda module, given, result: torch.save(result, "CANARY/written"))
layer(torch.ones(1, 2))
