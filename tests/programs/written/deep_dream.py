"""Deep dream: gradient ascent on an image, octave by octave, with a fresh leaf in every step."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torchvision import models

torch.manual_seed(0)
np.random.seed(0)
network = models.vgg19(weights=models.VGG19_Weights.DEFAULT).features.eval()
for p in network.parameters():
    p.requires_grad_(False)
mean = np.array([0.485, 0.456, 0.406], dtype=np.float32).reshape(3, 1, 1)
std = np.array([0.229, 0.224, 0.225], dtype=np.float32).reshape(3, 1, 1)


def preprocess(image):
    return torch.from_numpy((image - mean) / std).unsqueeze(0)


def deprocess(tensor):
    image = tensor.squeeze(0).detach().numpy() * std + mean
    return np.clip(image, 0.0, 1.0)


def total_variation(x):
    return (x[..., 1:, :] - x[..., :-1, :]).abs().mean() + (x[..., 1:] - x[..., :-1]).abs().mean()


def smooth(grad, sigma):
    kernel = torch.tensor([0.25, 0.5, 0.25])
    kernel = (kernel[:, None] * kernel[None, :] * sigma).expand(3, 1, 3, 3)
    return F.conv2d(grad, kernel.contiguous(), padding=1, groups=3)


def step(image, layer, lr, shift):
    """One ascent step; the image that comes back is a plain tensor again."""
    rolled = torch.roll(image, shifts=shift, dims=(2, 3)).requires_grad_(True)
    activations = [rolled]
    for module in network[: layer + 1]:
        activations.append(module(activations[-1].clone()))
    loss = activations[-1].pow(2).mean() - 0.1 * total_variation(rolled)
    loss.backward()
    grad = smooth(rolled.grad, 1.0)
    grad /= grad.abs().mean() + 1e-8
    rolled = rolled.detach() + lr * grad
    image = torch.roll(rolled, shifts=(-shift[0], -shift[1]), dims=(2, 3))
    return image.clamp(-3, 3), loss.item()


def dream(image, layer, octaves=2, scale=1.4, iterations=4, lr=0.05):
    shapes = [image.shape[-2:]]
    for _ in range(octaves - 1):
        shapes.append(tuple(max(4, int(s / scale)) for s in shapes[-1]))
    detail = torch.zeros(1, 3, *shapes[-1])
    history = []
    for shape in reversed(shapes):
        base = F.interpolate(preprocess(image), size=shape, mode="bilinear", align_corners=False)
        detail = F.interpolate(detail, size=shape, mode="bilinear", align_corners=False)
        current = base + detail
        for _ in range(iterations):
            shift = tuple(np.random.randint(-2, 3, size=2).tolist())
            current, value = step(current, layer, lr, shift)
            history.append(value)
        detail = current - base
    return deprocess(current), history


def neuron_image(channel, n=8, size=10):
    """Maximise one channel with an optimizer and a learning image."""
    image = (torch.randn(1, 3, size, size) * 0.1).requires_grad_(True)
    optimizer = torch.optim.Adam([image], lr=0.05, weight_decay=1e-3)
    for _ in range(n):
        optimizer.zero_grad()
        objective = -network(image * 1.0)[0, channel].mean()
        objective.backward()
        optimizer.step()
        image.data.clamp_(-3, 3)
    return deprocess(image)


picture = np.random.rand(3, 14, 14).astype(np.float32)
result, history = dream(picture, layer=3)
print(result.shape, round(history[0], 4), round(history[-1], 4), neuron_image(2).mean())
