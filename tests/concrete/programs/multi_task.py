import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(10)


class MultiTask(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(12, 32), nn.ReLU())
        self.classify = nn.Linear(32, 5)
        self.regress = nn.Linear(32, 1)
        self.flag = nn.Linear(32, 1)
        self.log_vars = nn.Parameter(torch.zeros(3))

    def forward(self, x):
        h = self.trunk(x)
        return self.classify(h), self.regress(h).squeeze(1), self.flag(h).squeeze(1)

    def combine(self, losses):
        return (torch.stack(losses) * torch.exp(-self.log_vars) + self.log_vars).sum()


model = MultiTask()
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
data = torch.randn(80, 12)
classes = data[:, :5].argmax(1)
values = data.sum(1)
flags = (data[:, 5] > 0).float()
for epoch in range(4):
    meter = torch.zeros(3)
    for index in torch.randperm(80).split(16):
        scores, value, flag = model(data[index])
        losses = [
            F.cross_entropy(scores, classes[index]),
            F.smooth_l1_loss(value, values[index]),
            F.binary_cross_entropy_with_logits(flag, flags[index]),
        ]
        loss = model.combine(losses)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        meter += torch.stack(losses).detach()
    scheduler.step()
print(meter / 5)
