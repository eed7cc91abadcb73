import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    """Spheres, boxes and discs, randomly turned about z."""

    def __init__(self, size=24, points=32):
        self.size, self.points = size, points

    def __len__(self):
        return self.size

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(index)
        cloud = torch.randn(self.points, 3, generator=generator)
        label = index % 3
        if label == 0:
            cloud = cloud / cloud.norm(dim=1, keepdim=True)
        elif label == 1:
            cloud = cloud.clamp(-0.8, 0.8)
        else:
            cloud[:, 2] = 0
        return cloud, label


class TNet(nn.Module):
    def __init__(self, k):
        super().__init__()
        self.k = k
        self.conv = nn.Sequential(nn.Conv1d(k, 16, 1), nn.BatchNorm1d(16), nn.ReLU(), nn.Conv1d(16, 32, 1), nn.ReLU())
        self.fc = nn.Linear(32, k * k)
        nn.init.zeros_(self.fc.weight)
        with torch.no_grad():
            self.fc.bias.copy_(torch.eye(k).flatten())

    def forward(self, x):
        return self.fc(self.conv(x).amax(2)).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, classes=3):
        super().__init__()
        self.stn = TNet(3)
        self.feat = nn.Sequential(nn.Conv1d(3, 16, 1), nn.BatchNorm1d(16), nn.ReLU(inplace=True))
        self.fstn = TNet(16)
        self.more = nn.Sequential(nn.Conv1d(16, 32, 1), nn.BatchNorm1d(32), nn.ReLU(inplace=True), nn.Conv1d(32, 64, 1))
        self.head = nn.Sequential(nn.Linear(64, 32), nn.ReLU(inplace=True), nn.Dropout(0.3), nn.Linear(32, classes))

    def forward(self, cloud):
        x = cloud.transpose(1, 2)
        t1 = self.stn(x)
        x = self.feat(t1 @ x)
        t2 = self.fstn(x)
        x = self.more(t2 @ x)
        return self.head(x.max(dim=2)[0]), t2


def orthogonality(t):
    eye = torch.eye(t.size(1), device=t.device)
    return (torch.bmm(t, t.transpose(1, 2)) - eye).norm(dim=(1, 2)).mean()


def run_epoch(net, loader, optimizer=None):
    training = optimizer is not None
    net.train(training)
    seen = right = 0
    with torch.set_grad_enabled(training):
        for cloud, label in loader:
            logits, t = net(cloud)
            if training:
                loss = F.cross_entropy(logits, label) + 1e-3 * orthogonality(t)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
            right += (logits.argmax(1) == label).sum().item()
            seen += len(label)
    return right / seen


def main():
    torch.manual_seed(0)
    loader = DataLoader(Shapes(), batch_size=8, shuffle=True)
    net = PointNet()
    optimizer = torch.optim.AdamW(net.parameters(), lr=1e-2)
    for epoch in range(2):
        train_acc = run_epoch(net, loader, optimizer)
        test_acc = run_epoch(net, loader)
        print(epoch, train_acc, test_acc)
    return net


if __name__ == '__main__':
    net = main()
