import torch
scaler = torch.amp.GradScaler("cpu")
x = [torch.ones(3, requires_grad=True).sum()]
x.append(x)
scaler.scale(x)
