import torch

torch.arange(0, 1e308, 1e-308)
torch.arange(-1e308, 1e308)
torch.arange(float("inf"))
torch.nn.functional.interpolate(torch.ones(1, 1, 3), scale_factor=1e308)
huge = torch.ones(*[2**62] * 20)
torch.arange(huge.numel())
torch.arange(0.5, huge.numel())
torch.nn.functional.interpolate(huge.reshape(1, 1, -1), scale_factor=2)
torch.nn.functional.interpolate(huge.flatten()[None, None], scale_factor=0.5)
