"""Influence functions: inverse Hessian-vector products by conjugate gradients on a small classifier."""
import torch
from torch import nn
import torch.nn.functional as F


def flat(grads):
    return torch.cat([g.reshape(-1) for g in grads])


def hvp(loss, params, vector):
    grads = torch.autograd.grad(loss, params, create_graph=True)
    product = (flat(grads) * vector).sum()
    return flat(torch.autograd.grad(product, params)).detach()


def conjugate_gradient(apply, b, steps=10, tolerance=1e-8):
    x = torch.zeros_like(b)
    r = b.clone()
    p = r.clone()
    rr = r @ r
    for _ in range(steps):
        if rr < tolerance:
            break
        hp = apply(p)
        alpha = rr / (p @ hp)
        x += alpha * p
        r -= alpha * hp
        new = r @ r
        p = r + new / rr * p
        rr = new
    return x


class Influence:
    def __init__(self, model, x, y, damping=0.05):
        self.model, self.x, self.y, self.damping = model, x, y, damping
        self.params = [p for p in model.parameters() if p.requires_grad]

    def train_loss(self):
        return F.cross_entropy(self.model(self.x), self.y)

    def inverse_hvp(self, vector):
        def damped(v):
            return hvp(self.train_loss(), self.params, v) + self.damping * v
        return conjugate_gradient(damped, vector)

    def scores(self, x_test, y_test):
        loss = F.cross_entropy(self.model(x_test), y_test)
        s_test = self.inverse_hvp(flat(torch.autograd.grad(loss, self.params)))
        result = []
        for xi, yi in zip(self.x, self.y):
            gi = flat(torch.autograd.grad(F.cross_entropy(self.model(xi[None]), yi[None]), self.params))
            result.append(-(gi @ s_test).item())
        return result


def main():
    torch.manual_seed(0)
    x = torch.randn(30, 4)
    y = (x[:, 0] > 0).long()
    model = nn.Sequential(nn.Linear(4, 6), nn.Tanh(), nn.Linear(6, 2))
    optimizer = torch.optim.LBFGS(model.parameters(), max_iter=20)

    def closure():
        optimizer.zero_grad()
        loss = F.cross_entropy(model(x), y) + 1e-2 * sum(p.pow(2).sum() for p in model.parameters())
        loss.backward()
        return loss

    optimizer.step(closure)
    scores = Influence(model, x, y).scores(x[:3] + 0.1, y[:3])
    top = sorted(range(len(scores)), key=scores.__getitem__)[:3]
    print("most harmful", top, [round(scores[i], 3) for i in top])


if __name__ == "__main__":
    main()
