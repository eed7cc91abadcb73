import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, dim=16, proj=8):
        super().__init__()
        self.f = nn.Sequential(
            nn.Conv1d(1, 8, 5, padding=2), nn.BatchNorm1d(8), nn.ReLU(inplace=True),
            nn.Conv1d(8, dim, 5, padding=2), nn.ReLU(inplace=True), nn.AdaptiveAvgPool1d(1), nn.Flatten())
        self.g = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(inplace=True), nn.Linear(dim, proj))

    def forward(self, x):
        feature = self.f(x)
        out = self.g(feature)
        return F.normalize(feature, dim=-1), F.normalize(out, dim=-1)


def augment(x):
    x = x * (0.8 + 0.4 * torch.rand(x.size(0), 1, 1))
    x = x + 0.05 * torch.randn_like(x)
    shift = torch.randint(-3, 4, (1,)).item()
    x = torch.roll(x, shift, dims=-1)
    cut = torch.randint(0, x.size(-1) - 4, (1,)).item()
    x[:, :, cut:cut + 4] = 0  # random erasing, on data only
    return x


def info_nce(out_1, out_2, temperature=0.5):
    batch_size = out_1.size(0)
    out = torch.cat([out_1, out_2], dim=0)
    sim_matrix = torch.exp(torch.mm(out, out.t().contiguous()) / temperature)
    mask = (torch.ones_like(sim_matrix) - torch.eye(2 * batch_size, device=sim_matrix.device)).bool()
    sim_matrix = sim_matrix.masked_select(mask).view(2 * batch_size, -1)
    pos_sim = torch.exp(torch.sum(out_1 * out_2, dim=-1) / temperature)
    pos_sim = torch.cat([pos_sim, pos_sim], dim=0)
    return (-torch.log(pos_sim / sim_matrix.sum(dim=-1))).mean()


def train(net, signals, train_optimizer, args):
    net.train()
    total_loss, total_num = 0.0, 0
    for pos in signals.split(args.batch_size):
        _, out_1 = net(augment(pos.clone()))
        _, out_2 = net(augment(pos.clone()))
        loss = info_nce(out_1, out_2, args.temperature)
        train_optimizer.zero_grad()
        loss.backward()
        train_optimizer.step()
        total_num += pos.size(0)
        total_loss += loss.item() * pos.size(0)
    return total_loss / total_num


def knn_accuracy(net, signals, labels):
    net.eval()
    with torch.no_grad():
        feature, _ = net(signals)
        sim = feature @ feature.t()
        sim.fill_diagonal_(-1)
        pred = labels[sim.argmax(dim=1)]
    return (pred == labels).float().mean().item()


if __name__ == '__main__':
    parser = argparse.ArgumentParser(description='SimCLR on toy signals')
    parser.add_argument('--temperature', default=0.5, type=float)
    parser.add_argument('--batch_size', default=16, type=int)
    parser.add_argument('--epochs', default=2, type=int)
    args = parser.parse_args()
    t = torch.linspace(0, 6.28, 32)
    labels = torch.arange(64) % 4
    signals = torch.stack([torch.sin(t * (k.item() + 1)) for k in labels]).unsqueeze(1)
    model = Encoder()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    for epoch in range(1, args.epochs + 1):
        loss = train(model, signals, optimizer, args)
        print('Epoch {} loss {:.3f} knn {:.2f}'.format(epoch, loss, knn_accuracy(model, signals, labels)))
