"""Gradient surgery: one backward per task through a shared trunk, conflicts projected away."""
import copy
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class PCGrad:
    def __init__(self, optimizer):
        self._optim = optimizer

    def zero_grad(self):
        return self._optim.zero_grad(set_to_none=True)

    def step(self):
        return self._optim.step()

    def pc_backward(self, objectives):
        grads, shapes = [], None
        for index, objective in enumerate(objectives):
            self._optim.zero_grad(set_to_none=True)
            # the trunk is shared: its graph is needed until the last task
            objective.backward(retain_graph=index < len(objectives) - 1)
            grad, shapes = self._retrieve()
            grads.append(grad)
        merged = self._project(grads)
        self._set(merged, shapes)

    def _retrieve(self):
        flat, shapes = [], []
        for group in self._optim.param_groups:
            for p in group['params']:
                shapes.append(p.shape)
                flat.append(torch.zeros_like(p).view(-1) if p.grad is None else p.grad.clone().view(-1))
        return torch.cat(flat), shapes

    def _project(self, grads):
        projected = copy.deepcopy(grads)
        for g_i in projected:
            random.shuffle(grads)
            for g_j in grads:
                dot = torch.dot(g_i, g_j)
                if dot < 0:
                    g_i -= dot * g_j / (g_j.norm() ** 2)
        return torch.stack(projected).mean(dim=0)

    def _set(self, merged, shapes):
        chunks = merged.split([s.numel() for s in shapes])
        it = iter(zip(chunks, shapes))
        for group in self._optim.param_groups:
            for p in group['params']:
                chunk, shape = next(it)
                p.grad = chunk.view(shape).clone()


class SharedNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(6, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh())
        self.left = nn.Linear(20, 1)
        self.right = nn.Linear(20, 3)

    def forward(self, x):
        h = self.trunk(x)
        return self.left(h).squeeze(-1), self.right(h)


class GradNorm:
    """Balance task weights by the norms of their gradients at the last shared layer."""

    def __init__(self, n_tasks, shared, alpha=1.0, lr=0.02):
        self.weights = torch.ones(n_tasks, requires_grad=True)
        self.shared, self.alpha, self.lr = shared, alpha, lr
        self.initial = None

    def update(self, losses):
        if self.initial is None:
            self.initial = torch.stack(losses).detach()
        norms = torch.stack([
            torch.autograd.grad(w * loss, self.shared, retain_graph=True, create_graph=True)[0].norm()
            for w, loss in zip(self.weights, losses)
        ])
        with torch.no_grad():
            ratio = torch.stack(losses) / self.initial
            target = norms.mean() * (ratio / ratio.mean()) ** self.alpha
        (grad,) = torch.autograd.grad((norms - target).abs().sum(), self.weights)
        with torch.no_grad():
            self.weights -= self.lr * grad
            self.weights *= len(losses) / self.weights.sum()


random.seed(0)
torch.manual_seed(0)
x = torch.randn(90, 6)
y_left, y_right = x.sum(1).sin(), x[:, :3].argmax(1)
net = SharedNet()
surgery = PCGrad(torch.optim.Adam(net.parameters(), lr=3e-3))
for idx in torch.randperm(90).split(15):
    left, right = net(x[idx])
    surgery.pc_backward([F.mse_loss(left, y_left[idx]), F.cross_entropy(right, y_right[idx])])
    surgery.step()

optimizer = torch.optim.SGD(net.parameters(), lr=0.05)
balance = GradNorm(2, net.trunk[2].weight)
for idx in torch.randperm(90).split(15):
    left, right = net(x[idx])
    losses = [F.mse_loss(left, y_left[idx]), F.cross_entropy(right, y_right[idx])]
    total = sum(w * loss for w, loss in zip(balance.weights.detach(), losses))
    optimizer.zero_grad()
    total.backward(retain_graph=True)
    balance.update(losses)
    optimizer.step()
print(balance.weights.tolist(), total.item())
