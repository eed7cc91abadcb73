"""Grad-CAM, saliency and SmoothGrad for a small convolutional network."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class ConvNet(nn.Module):
    def __init__(self, n_classes=3):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 6, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(6, 8, 3, padding=1), nn.ReLU(),
        )
        self.classifier = nn.Linear(8, n_classes)
        self.gradients = None

    def activations_hook(self, grad):
        self.gradients = grad

    def forward(self, x, hook=False):
        x = self.features(x)
        if hook:
            x.register_hook(self.activations_hook)
        self.maps = x.detach()
        return self.classifier(x.mean(dim=(2, 3)))


class GradCAM:
    def __init__(self, model, layer):
        self.model = model
        self.activation, self.gradient = None, None
        self.handles = [
            layer.register_forward_hook(self._save_activation),
            layer.register_full_backward_hook(self._save_gradient),
        ]

    def _save_activation(self, module, inputs, output):
        self.activation = output.detach()

    def _save_gradient(self, module, grad_input, grad_output):
        self.gradient = grad_output[0].detach()

    def __call__(self, x, class_idx=None):
        logits = self.model(x)
        if class_idx is None:
            class_idx = logits.argmax(dim=1)
        one_hot = F.one_hot(class_idx, logits.size(1)).float()
        self.model.zero_grad()
        logits.backward(gradient=one_hot)
        weights = self.gradient.mean(dim=(2, 3), keepdim=True)
        cam = F.relu((weights * self.activation).sum(1, keepdim=True))
        cam = F.interpolate(cam, x.shape[-2:], mode='bilinear', align_corners=False)
        cam -= cam.amin(dim=(2, 3), keepdim=True)
        cam /= cam.amax(dim=(2, 3), keepdim=True) + 1e-8
        return cam.squeeze(1).numpy()

    def remove(self):
        for h in self.handles:
            h.remove()


def saliency(model, x):
    x = x.clone().requires_grad_(True)
    score, _ = model(x).max(1)
    score.sum().backward()
    return x.grad.abs().amax(1).numpy()


def smooth_grad(model, x, n=4, sigma=0.1):
    total = np.zeros((len(x),) + tuple(x.shape[-2:]), dtype=np.float32)
    for _ in range(n):
        total += saliency(model, x + sigma * torch.randn_like(x))
    return total / n


def intermediate_gradient(model, x):
    """The gradient of a non-leaf, kept on purpose."""
    features = model.features(x)
    features.retain_grad()
    model.classifier(features.mean(dim=(2, 3))).sum().backward()
    return features.grad


torch.manual_seed(0)
model = ConvNet()
images = torch.randn(4, 1, 8, 8)
model(images, hook=True).max(1).values.sum().backward()
pooled = model.gradients.mean(dim=(0, 2, 3))
heat = (model.maps * pooled[None, :, None, None]).mean(1).clamp(min=0)
cam = GradCAM(model, model.features[3])
maps = cam(images)
cam.remove()
print(heat.shape, maps.max(), smooth_grad(model, images).mean(), intermediate_gradient(model, images).norm().item())
