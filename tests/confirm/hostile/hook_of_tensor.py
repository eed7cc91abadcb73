import torch
x = torch.ones(2, requires_grad=True)
x.register_hook(lambda g: g.numpy().tofile("CANARY/written"))
x.sum().backward()
