"""FitNets: a student matches the teacher's logits and, through hooks and a regressor, its hidden features."""
import torch
import torch.nn as nn
import torch.nn.functional as F


class Net(nn.Module):
    def __init__(self, width, classes=4):
        super().__init__()
        self.stem = nn.Conv1d(1, width, 5, padding=2)
        self.block = nn.Sequential(nn.Conv1d(width, width, 3, padding=1), nn.BatchNorm1d(width), nn.ReLU())
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = F.max_pool1d(F.relu(self.stem(x)), 2)
        x = self.block(x)
        return self.fc(x.mean(dim=2))


class FeatureHook:
    def __init__(self, module):
        self.value = None
        self.handle = module.register_forward_hook(self.keep)

    def keep(self, module, inputs, output):
        self.value = output

    def close(self):
        self.handle.remove()


def dataset(n=160, length=32):
    t = torch.linspace(0, 1, length)
    y = torch.randint(0, 4, (n,))
    x = torch.sin(2 * torch.pi * (y.unsqueeze(1) + 1) * t) + 0.3 * torch.randn(n, length)
    return x.unsqueeze(1), y


def train_teacher(x, y, epochs=3):
    teacher = Net(16)
    optimizer = torch.optim.Adam(teacher.parameters(), lr=5e-3)
    for _ in range(epochs):
        for i in range(0, len(x), 32):
            optimizer.zero_grad()
            F.cross_entropy(teacher(x[i:i + 32]), y[i:i + 32]).backward()
            optimizer.step()
    return teacher.eval()


def distill(teacher, x, y, temperature=3.0, alpha=0.7, epochs=3):
    student = Net(6)
    regressor = nn.Conv1d(6, 16, 1)
    hooks = FeatureHook(teacher.block), FeatureHook(student.block)
    optimizer = torch.optim.Adam([*student.parameters(), *regressor.parameters()], lr=5e-3)
    curve = []
    for epoch in range(epochs):
        for i in range(0, len(x), 32):
            xb, yb = x[i:i + 32], y[i:i + 32]
            with torch.no_grad():
                soft = F.softmax(teacher(xb) / temperature, dim=1)
            logits = student(xb)
            hint = F.mse_loss(regressor(hooks[1].value), hooks[0].value)
            kd = F.kl_div(F.log_softmax(logits / temperature, dim=1), soft, reduction="batchmean") * temperature ** 2
            loss = alpha * kd + (1 - alpha) * F.cross_entropy(logits, yb) + 0.1 * hint
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            curve.append((loss.item(), hint.item()))
    for hook in hooks:
        hook.close()
    return student, curve


if __name__ == "__main__":
    torch.manual_seed(0)
    x, y = dataset()
    student, curve = distill(train_teacher(x, y), x, y)
    print("first", curve[0], "last", curve[-1])
