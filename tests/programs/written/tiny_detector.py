"""A one-stage detector on synthetic squares: boxes, anchors, focal loss, IoU."""
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

GRID, SIZE = 4, 16


def make_scene(rng):
    image = 0.1 * rng.standard_normal((1, SIZE, SIZE)).astype(np.float32)
    boxes = []
    for _ in range(rng.integers(1, 3)):
        w, h = rng.integers(3, 6, 2)
        x0, y0 = rng.integers(0, SIZE - w), rng.integers(0, SIZE - h)
        image[0, y0:y0 + h, x0:x0 + w] += 1.0
        boxes.append([x0 + w / 2, y0 + h / 2, w, h])
    return torch.from_numpy(image), torch.tensor(np.array(boxes), dtype=torch.float32)


def encode_targets(boxes):
    objectness = torch.zeros(GRID, GRID)
    offsets = torch.zeros(GRID, GRID, 4)
    cell = SIZE / GRID
    for cx, cy, w, h in boxes.tolist():
        i, j = min(int(cy / cell), GRID - 1), min(int(cx / cell), GRID - 1)
        objectness[i, j] = 1
        offsets[i, j] = torch.tensor([cx / cell - j, cy / cell - i, np.log(w / cell), np.log(h / cell)])
    return objectness, offsets


class Detector(nn.Module):
    def __init__(self, width=8):
        super().__init__()
        self.backbone = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
            nn.Conv2d(width, width, 3, stride=2, padding=1), nn.BatchNorm2d(width), nn.ReLU(inplace=True),
        )
        self.cls_head = nn.Conv2d(width, 1, 1)
        self.box_head = nn.Conv2d(width, 4, 1)
        prior = 0.05
        nn.init.constant_(self.cls_head.bias, -np.log((1 - prior) / prior))

    def forward(self, x):
        features = self.backbone(x)
        boxes = self.box_head(features).permute(0, 2, 3, 1)
        # centre offsets lie within the cell; written into a copy
        out = boxes.clone()
        out[..., :2] = torch.sigmoid(boxes[..., :2])
        return self.cls_head(features).squeeze(1), out


def focal_loss(logits, target, gamma=2.0, alpha=0.25):
    p = torch.sigmoid(logits)
    ce = F.binary_cross_entropy_with_logits(logits, target, reduction='none')
    p_t = p * target + (1 - p) * (1 - target)
    alpha_t = alpha * target + (1 - alpha) * (1 - target)
    return (alpha_t * (1 - p_t) ** gamma * ce).sum() / target.sum().clamp(min=1)


def detection_loss(model, images, objectness, offsets):
    logits, boxes = model(images)
    cls_loss = focal_loss(logits, objectness)
    positive = objectness > 0
    box_loss = F.smooth_l1_loss(boxes[positive], offsets[positive]) if positive.any() else boxes.sum() * 0
    return cls_loss, box_loss


def decode(logits, boxes, threshold=0.3):
    boxes = boxes.detach().clone()
    cell = SIZE / GRID
    shift = torch.arange(GRID, dtype=torch.float32)
    boxes[..., 0] += shift
    boxes[..., 1] += shift.unsqueeze(1)
    boxes[..., 2:].exp_()
    boxes *= cell
    keep = torch.sigmoid(logits) > threshold
    return [b[k] for b, k in zip(boxes, keep)]


rng = np.random.default_rng(0)
torch.manual_seed(0)
scenes = [make_scene(rng) for _ in range(24)]
images = torch.stack([image for image, _ in scenes])
targets = [encode_targets(boxes) for _, boxes in scenes]
objectness, offsets = (torch.stack(part) for part in zip(*targets))
model = Detector()
optimizer = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9)
meters = {"cls": [], "box": []}
for epoch in range(4):
    for idx in torch.randperm(len(images)).chunk(3):
        cls_loss, box_loss = detection_loss(model, images[idx], objectness[idx], offsets[idx])
        loss = cls_loss + 2.0 * box_loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meters["cls"].append(cls_loss.item())
        meters["box"].append(box_loss.item())
model.eval()
found = decode(*model(images))
print("losses", np.mean(meters["cls"]), np.mean(meters["box"]), "boxes", sum(len(f) for f in found))
