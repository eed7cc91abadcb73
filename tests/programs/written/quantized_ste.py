"""Quantisation-aware training with a straight-through estimator and a learned step size."""
import torch
import torch.nn as nn
from torch.autograd import Function


class RoundSTE(Function):
    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


class ClampQuant(Function):
    """Clamp to [-limit, limit]; the gradient is masked outside, and reaches the limit."""

    @staticmethod
    def forward(ctx, x, limit):
        ctx.save_for_backward(x, limit)
        return torch.max(torch.min(x, limit), -limit)

    @staticmethod
    def backward(ctx, grad_output):
        x, limit = ctx.saved_tensors
        inside = (x.abs() <= limit).to(grad_output.dtype)
        grad_limit = (grad_output * (1 - inside) * x.sign()).sum().view_as(limit)
        return grad_output * inside, grad_limit


class QuantLinear(nn.Linear):
    def __init__(self, in_features, out_features, bits=4):
        super().__init__(in_features, out_features)
        self.levels = 2 ** (bits - 1) - 1
        self.limit = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("calibrated", torch.tensor(False))

    def quantize(self, w):
        step = self.limit / self.levels
        clipped = ClampQuant.apply(w, self.limit)
        return RoundSTE.apply(clipped / step) * step

    def forward(self, x):
        if not self.calibrated:
            self.limit.data.fill_(self.weight.detach().abs().max() * 0.9)
            self.calibrated.fill_(True)
        return nn.functional.linear(x, self.quantize(self.weight), self.bias)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = QuantLinear(6, 16)
        self.fc2 = QuantLinear(16, 2)

    def forward(self, x):
        return self.fc2(torch.relu(self.fc1(x)))


torch.manual_seed(0)
net = Net()
x = torch.randn(64, 6)
y = (x[:, 0] * x[:, 1] > 0).long()
optimizer = torch.optim.Adam(net.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss()
for epoch in range(5):
    perm = torch.randperm(len(x))
    for idx in perm.split(16):
        optimizer.zero_grad()
        loss = criterion(net(x[idx]), y[idx])
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        acc = (net(x).argmax(1) == y).float().mean().item()
    print("epoch %d loss %.3f acc %.3f limits %.2f %.2f" % (epoch, loss.item(), acc, net.fc1.limit.item(), net.fc2.limit.item()))
