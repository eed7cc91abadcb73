import torch
import torch.nn.functional as F


def hinge_d(real, fake):
    return F.relu(1 - real).mean() + F.relu(1 + fake).mean()


def hinge_g(fake):
    return -fake.mean()


def r1_penalty(discriminator, real):
    """Gradient penalty on real samples; the caller passes a detached batch."""
    real = real.requires_grad_(True)
    score = discriminator(real)
    (grad,) = torch.autograd.grad(score.sum(), real, create_graph=True)
    return grad.pow(2).flatten(1).sum(1).mean()
