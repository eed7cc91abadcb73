"""Hessian-vector products, power iteration, Hutchinson traces and influence functions for a small classifier."""
import torch
import torch.nn as nn
import torch.nn.functional as F


def flatten(tensors):
    return torch.cat([t.reshape(-1) for t in tensors])


def hvp(loss, params, v):
    """Hessian times v by double backward; the graph of the loss is kept for further products."""
    grads = torch.autograd.grad(loss, params, create_graph=True)
    product = torch.dot(flatten(grads), v)
    return flatten(torch.autograd.grad(product, params, retain_graph=True)).detach()


def power_iteration(loss, params, n=10):
    v = torch.randn(sum(p.numel() for p in params))
    v /= v.norm()
    eigenvalue = None
    for _ in range(n):
        hv = hvp(loss, params, v)
        eigenvalue = torch.dot(hv, v).item()
        v = hv / (hv.norm() + 1e-12)
    return eigenvalue


def hutchinson_trace(loss, params, n=5):
    grads = flatten(torch.autograd.grad(loss, params, create_graph=True))
    estimates = []
    for _ in range(n):
        z = torch.randint(0, 2, grads.shape).float() * 2 - 1
        hz = torch.autograd.grad(grads, params, grad_outputs=z, retain_graph=True)
        estimates.append(torch.dot(flatten(hz), z).item())
    return sum(estimates) / n


def conjugate_gradient(loss, params, b, damping=0.1, n=8):
    x = torch.zeros_like(b)
    r, p = b.clone(), b.clone()
    rs = r @ r
    for _ in range(n):
        ap = hvp(loss, params, p) + damping * p
        alpha = rs / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        rs_new = r @ r
        if rs_new < 1e-8:
            break
        p = r + (rs_new / rs) * p
        rs = rs_new
    return x


def influence(model, x, y, x_test, y_test):
    params = list(model.parameters())
    loss = F.cross_entropy(model(x), y)
    test_grad = flatten(torch.autograd.grad(F.cross_entropy(model(x_test), y_test), params))
    direction = conjugate_gradient(loss, params, test_grad)
    scores = []
    for xi, yi in zip(x, y):
        gi = flatten(torch.autograd.grad(F.cross_entropy(model(xi[None]), yi[None]), params))
        scores.append(-torch.dot(direction, gi).item())
    return scores


torch.manual_seed(0)
x = torch.randn(24, 5)
y = (x[:, 0] - x[:, 1] > 0).long()
model = nn.Sequential(nn.Linear(5, 8), nn.Tanh(), nn.Linear(8, 2))
opt = torch.optim.SGD(model.parameters(), lr=0.5)
for _ in range(30):
    opt.zero_grad()
    F.cross_entropy(model(x), y).backward()
    opt.step()

params = list(model.parameters())
loss = F.cross_entropy(model(x), y)
top = power_iteration(loss, params)
trace = hutchinson_trace(loss, params)
scores = influence(model, x, y, torch.randn(3, 5), torch.tensor([0, 1, 0]))
print("top eigenvalue %.4f trace %.4f most helpful %d" % (top, trace, max(range(24), key=scores.__getitem__)))
