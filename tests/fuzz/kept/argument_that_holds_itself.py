import torch

parts = [torch.ones(3)]
parts.append(parts)
torch.nn.utils.clip_grad_norm_(parts, 1)
torch.optim.SGD(parts, 0.1)
torch.sum(parts)
torch.stack(parts)
torch.cat(parts)
