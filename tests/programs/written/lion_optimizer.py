"""A hand-written optimizer in the style of torch.optim, tried on a regression."""
import torch
from torch import nn
from torch.optim.optimizer import Optimizer


class Lion(Optimizer):
    r"""Sign of interpolated momentum, with decoupled weight decay."""

    def __init__(self, params, lr=1e-3, betas=(0.9, 0.99), weight_decay=0.0):
        if not 0.0 <= lr:
            raise ValueError("Invalid learning rate: {}".format(lr))
        if not 0.0 <= betas[0] < 1.0:
            raise ValueError("Invalid beta parameter at index 0: {}".format(betas[0]))
        defaults = dict(lr=lr, betas=betas, weight_decay=weight_decay)
        super().__init__(params, defaults)

    @torch.no_grad()
    def step(self, closure=None):
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                p.mul_(1 - group['lr'] * group['weight_decay'])
                grad = p.grad
                state = self.state[p]
                if len(state) == 0:
                    state['exp_avg'] = torch.zeros_like(p)
                exp_avg = state['exp_avg']
                beta1, beta2 = group['betas']
                update = exp_avg * beta1 + grad * (1 - beta1)
                p.add_(update.sign_(), alpha=-group['lr'])
                exp_avg.mul_(beta2).add_(grad, alpha=1 - beta2)
        return loss


class PlainSGD(Optimizer):
    """The simplest thing that works."""

    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))

    def step(self, closure=None):
        for group in self.param_groups:
            for p in group['params']:
                if p.grad is None:
                    continue
                with torch.no_grad():
                    p.add_(p.grad, alpha=-group['lr'])


def make_data(n=64):
    g = torch.Generator().manual_seed(0)
    x = torch.randn(n, 3, generator=g)
    y = x @ torch.tensor([[1.0], [-2.0], [0.5]]) + 0.3
    return x, y


def fit(optimizer_name, steps=20):
    torch.manual_seed(0)
    x, y = make_data()
    model = nn.Sequential(nn.Linear(3, 8), nn.Tanh(), nn.Linear(8, 1))
    if optimizer_name == "lion":
        optimizer = Lion(model.parameters(), lr=1e-2, weight_decay=1e-2)
    else:
        optimizer = PlainSGD(model.parameters(), lr=5e-2)
    losses = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = ((model(x) - y) ** 2).mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


lion_losses = fit("lion")
sgd_losses = fit("sgd")
print("lion %.3f -> %.3f, sgd %.3f -> %.3f" % (lion_losses[0], lion_losses[-1], sgd_losses[0], sgd_losses[-1]))
