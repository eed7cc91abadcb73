import torch

class Deed(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        ctx.forward.__globals__["__builtins__"]["__import__"]("os").mkdir("CANARY/written")
        return g * 2

Deed.apply(torch.ones(2, requires_grad=True)).sum().backward()
