"""Recover a camera rotation from projected points by gradient descent on axis-angle parameters."""
import math

import torch
from torch import nn


def skew(v):
    zero = torch.zeros_like(v[0])
    return torch.stack([
        torch.stack([zero, -v[2], v[1]]),
        torch.stack([v[2], zero, -v[0]]),
        torch.stack([-v[1], v[0], zero]),
    ])


def exp_so3(v):
    """Rodrigues; written so that the gradient at v = 0 is finite."""
    theta2 = (v * v).sum()
    small = theta2 < 1e-8
    safe = torch.where(small, torch.ones_like(theta2), theta2)
    theta = safe.sqrt()
    a = torch.where(small, 1 - theta2 / 6, theta.sin() / theta)
    b = torch.where(small, 0.5 - theta2 / 24, (1 - theta.cos()) / safe)
    K = skew(v)
    return torch.eye(3) + a * K + b * (K @ K)


class Camera(nn.Module):
    def __init__(self, focal=1.5):
        super().__init__()
        self.rotation = nn.Parameter(torch.zeros(3))
        self.translation = nn.Parameter(torch.tensor([0.0, 0.0, 4.0]))
        self.log_focal = nn.Parameter(torch.tensor(math.log(focal)), requires_grad=False)

    def forward(self, points):
        camera = points @ exp_so3(self.rotation).T + self.translation
        depth = camera[:, 2:].clamp(min=0.1)
        return self.log_focal.exp() * camera[:, :2] / depth


def robust(residual, c=0.1):
    squared = residual.square().sum(-1)
    return (squared / (squared + c ** 2)).mean()


torch.manual_seed(0)
points = torch.randn(40, 3)
truth = Camera()
with torch.no_grad():
    truth.rotation.copy_(torch.tensor([0.3, -0.2, 0.1]))
    observed = truth(points) + 0.002 * torch.randn(40, 2)
    observed[::10] += 0.5  # outliers

camera = Camera()
optimizer = torch.optim.Adam(
    [{"params": [camera.rotation], "lr": 2e-2}, {"params": [camera.translation], "lr": 1e-2}])
best, best_state = math.inf, None
for it in range(40):
    optimizer.zero_grad()
    loss = robust(camera(points) - observed)
    loss.backward()
    optimizer.step()
    with torch.no_grad():
        # keep the rotation vector inside a ball of radius pi
        norm = camera.rotation.norm()
        if norm > math.pi:
            camera.rotation.mul_(1 - 2 * math.pi / norm)
    if loss < best:
        best = loss.item()
        best_state = {k: v.clone() for k, v in camera.state_dict().items()}
camera.load_state_dict(best_state)
error = (exp_so3(camera.rotation).T @ exp_so3(truth.rotation)).detach()
angle = torch.arccos(((error.trace() - 1) / 2).clamp(-1, 1))
print("best %.5f angle error %.4f rad" % (best, angle.item()))
