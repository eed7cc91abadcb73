"""FGSM and PGD attacks on a small classifier, and adversarial training with them."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim


class SmallNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(10, 32), nn.ReLU(), nn.Linear(32, n_classes))

    def forward(self, x):
        return self.net(x)


def fgsm(model, x, y, epsilon):
    delta = torch.zeros_like(x, requires_grad=True)
    loss = F.cross_entropy(model(x + delta), y)
    loss.backward()
    return epsilon * delta.grad.detach().sign()


def pgd_linf(model, x, y, epsilon=0.1, alpha=0.02, num_iter=5, randomize=True):
    if randomize:
        delta = torch.rand_like(x, requires_grad=True)
        delta.data = delta.data * 2 * epsilon - epsilon
    else:
        delta = torch.zeros_like(x, requires_grad=True)
    for t in range(num_iter):
        loss = F.cross_entropy(model(x + delta), y)
        loss.backward()
        with torch.no_grad():
            delta.add_(alpha * delta.grad.sign()).clamp_(-epsilon, epsilon)
        delta.grad.zero_()
    return delta.detach()


def pgd_autograd(model, x, y, epsilon=0.1, alpha=0.02, num_iter=3):
    x_adv = x.detach() + torch.empty_like(x).uniform_(-epsilon, epsilon)
    for _ in range(num_iter):
        x_adv.requires_grad_()
        with torch.enable_grad():
            loss = F.cross_entropy(model(x_adv), y, reduction='sum')
        grad = torch.autograd.grad(loss, [x_adv])[0]
        x_adv = x_adv.detach() + alpha * torch.sign(grad.detach())
        x_adv = torch.min(torch.max(x_adv, x - epsilon), x + epsilon)
    return x_adv


def epoch(batches, model, attack=None, opt=None):
    total_loss, total_err, n = 0., 0., 0
    for X, y in batches:
        delta = attack(model, X, y) if attack is not None else 0.0
        yp = model(X + delta)
        loss = nn.CrossEntropyLoss()(yp, y)
        if opt:
            opt.zero_grad()
            loss.backward()
            opt.step()
        total_err += (yp.max(dim=1)[1] != y).sum().item()
        total_loss += loss.item() * X.shape[0]
        n += len(y)
    return total_err / n, total_loss / n


torch.manual_seed(0)
centers = torch.randn(3, 10)
labels = torch.randint(0, 3, (64,))
points = centers[labels] + 0.3 * torch.randn(64, 10)
batches = list(zip(points.split(16), labels.split(16)))
model = SmallNet()
opt = optim.SGD(model.parameters(), lr=1e-1)
for t in range(2):
    train_err, train_loss = epoch(batches, model, pgd_linf, opt)
    adv_err, adv_loss = epoch(batches, model, lambda m, X, y: fgsm(m, X, y, 0.1))
    print("%.4f %.4f" % (train_err, adv_err))
x_adv = pgd_autograd(model, points, labels)
print((model(x_adv).argmax(1) == labels).float().mean().item())
