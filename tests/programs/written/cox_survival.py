"""DeepSurv: a network under the Cox partial likelihood, with ensembles by seed."""
import numpy as np
import torch
import torch.nn as nn


def make_data(n=96, d=5, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)).astype(np.float32)
    hazard = np.exp(x[:, 0] - 0.5 * x[:, 1] ** 2)
    time = rng.exponential(1 / hazard)
    censor = rng.exponential(2.0, size=n)
    event = (time <= censor).astype(np.float32)
    return x, np.minimum(time, censor).astype(np.float32), event


class RiskNet(nn.Module):
    def __init__(self, d, hidden=(16, 8), dropout=0.1):
        super().__init__()
        blocks = []
        for h in hidden:
            blocks.append(nn.Sequential(nn.Linear(d, h), nn.SELU(), nn.AlphaDropout(dropout)))
            d = h
        self.blocks = nn.ModuleList(blocks)
        self.out = nn.Linear(d, 1, bias=False)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.out(x).squeeze(-1)


def cox_loss(risk, time, event):
    order = torch.argsort(time, descending=True)
    risk, event = risk[order], event[order]
    log_cumulative = torch.logcumsumexp(risk, dim=0)
    return -((risk - log_cumulative) * event).sum() / event.sum().clamp(min=1)


def concordance(risk, time, event):
    wins = pairs = 0.0
    for i in range(len(time)):
        if not event[i]:
            continue
        later = time > time[i]
        pairs += later.sum().item()
        wins += (risk[later] < risk[i]).sum().item()
    return wins / max(pairs, 1.0)


def train_one(seed, x, time, event, epochs=8):
    torch.manual_seed(seed)
    net = RiskNet(x.shape[1])
    decay, plain = [], []
    for name, p in net.named_parameters():
        (decay if name.endswith('weight') else plain).append(p)
    optimizer = torch.optim.SGD([{'params': decay, 'weight_decay': 1e-3}, {'params': plain}], lr=0.05, momentum=0.9, nesterov=True)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda e: 1 / (1 + 0.1 * e))
    losses = np.zeros(epochs)
    for e in range(epochs):
        net.train()
        optimizer.zero_grad()
        loss = cox_loss(net(x), time, event)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses[e] = loss.item()
    return net.eval(), losses


def main():
    x, time, event = map(torch.from_numpy, make_data())
    members, curves = zip(*(train_one(seed, x, time, event) for seed in range(2)))
    with torch.no_grad():
        risk = torch.stack([m(x) for m in members]).mean(0)
    print('c-index', concordance(risk, time, event), 'loss', np.mean([c[-1] for c in curves]))
    return members


if __name__ == '__main__':
    members = main()
