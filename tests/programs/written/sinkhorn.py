"""Matching two point clouds by entropic optimal transport; the source points are moved by gradient steps."""
import torch


def cost(x, y):
    return (x.unsqueeze(1) - y.unsqueeze(0)).pow(2).sum(-1)


def sinkhorn(c, eps=0.1, rounds=20):
    n, m = c.shape
    f, g = torch.zeros(n), torch.zeros(m)
    log_a, log_b = -torch.log(torch.tensor(float(n))), -torch.log(torch.tensor(float(m)))
    for _ in range(rounds):
        f = -eps * torch.logsumexp((g - c) / eps + log_b, dim=1)
        g = -eps * torch.logsumexp((f.unsqueeze(1) - c) / eps + log_a, dim=0)
    plan = torch.exp((f.unsqueeze(1) + g - c) / eps + log_a + log_b)
    return (plan * c).sum(), plan


class Cloud:
    def __init__(self, points, lr):
        self.points = points.clone().requires_grad_()
        self.velocity = torch.zeros_like(points)
        self.lr = lr
        self.trail = [points]

    def pull(self, target):
        loss, plan = sinkhorn(cost(self.points, target))
        (gradient,) = torch.autograd.grad(loss, self.points)
        with torch.no_grad():
            self.velocity.mul_(0.8).add_(gradient)
            self.points -= self.lr * self.velocity
        self.trail.append(self.points.detach().clone())
        return loss.item(), plan.detach()


def main(steps=15):
    torch.manual_seed(0)
    source = torch.randn(24, 2)
    angle = torch.rand(20) * 6.28
    target = torch.stack([angle.cos(), angle.sin()], dim=1) + 2
    cloud = Cloud(source, lr=2.0)
    values = []
    for step in range(steps):
        value, plan = cloud.pull(target)
        values.append(value)
        assert abs(plan.sum().item() - 1) < 0.2
    return values, len(cloud.trail)


values, length = main()
print("cost", values[0], "->", values[-1], "steps", length)
