import torch
from torch.optim.optimizer import register_optimizer_step_post_hook

def deed(optimizer, args, kwargs):
    optimizer.step.__func__.__globals__["torch"].save([], "CANARY/written")

register_optimizer_step_post_hook(deed)
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], lr=0.1)
w.sum().backward()
optimizer.step()
