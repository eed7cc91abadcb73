import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(7)


def network(width):
    return nn.Sequential(nn.Linear(10, width), nn.ReLU(), nn.Dropout(0.1), nn.Linear(width, 4))


def batches(count):
    for _ in range(count):
        x = torch.randn(16, 10)
        yield x, x[:, :4].argmax(1)


teacher = network(64)
optimizer = torch.optim.Adam(teacher.parameters(), lr=1e-2)
for x, y in batches(15):
    loss = F.cross_entropy(teacher(x), y)
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()

teacher.eval()
student = network(16)
optimizer = torch.optim.Adam(student.parameters(), lr=1e-2)
temperature, alpha = 3.0, 0.7
for epoch in range(3):
    student.train()
    for x, y in batches(8):
        with torch.no_grad():
            soft = F.softmax(teacher(x) / temperature, dim=1)
        logits = student(x)
        kd = F.kl_div(F.log_softmax(logits / temperature, dim=1), soft, reduction="batchmean") * temperature**2
        loss = alpha * kd + (1 - alpha) * F.cross_entropy(logits, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    student.eval()
    correct = 0
    with torch.no_grad():
        for x, y in batches(4):
            correct += (student(x).argmax(1) == y).sum().item()
print(correct / 64)
