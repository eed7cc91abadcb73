"""Federated averaging: clients train copies of a network on skewed data, a server averages them."""

import copy
import random
from typing import NamedTuple

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

random.seed(9)
torch.manual_seed(9)


class Round(NamedTuple):
    number: int
    loss: float
    accuracy: float
    drift: float


def make_net():
    return nn.Sequential(
        nn.Linear(12, 32), nn.BatchNorm1d(32), nn.ReLU(), nn.Dropout(0.1), nn.Linear(32, 24), nn.ReLU(), nn.Linear(24, 3)
    )


class Client:
    def __init__(self, rule, skew):
        x = torch.randn(40, 12) + skew
        y = (x @ rule).argmax(dim=1)
        self.loader = DataLoader(TensorDataset(x, y), batch_size=10, shuffle=True, drop_last=True)
        self.criterion = nn.CrossEntropyLoss()

    def train(self, server_net, epochs, lr, mu):
        net = copy.deepcopy(server_net)
        net.train()
        anchor = [p.detach().clone() for p in net.parameters()]
        optimizer = torch.optim.SGD(net.parameters(), lr=lr, momentum=0.5)
        total, seen = 0.0, 0
        for _ in range(epochs):
            for x, y in self.loader:
                loss = self.criterion(net(x), y)
                proximal = sum((p - a).pow(2).sum() for p, a in zip(net.parameters(), anchor))
                objective = loss + 0.5 * mu * proximal
                optimizer.zero_grad()
                objective.backward()
                optimizer.step()
                total += loss.item() * len(y)
                seen += len(y)
        return net.state_dict(), len(self.loader.dataset), total / seen


class Server:
    def __init__(self, clients, test):
        self.net = make_net()
        self.clients, self.test = clients, test
        self.rounds = []

    def aggregate(self, updates):
        weight = sum(size for _, size, _ in updates)
        merged = copy.deepcopy(updates[0][0])
        for key in merged:
            if merged[key].is_floating_point():
                merged[key] = sum(state[key] * (size / weight) for state, size, _ in updates)
        before = nn.utils.parameters_to_vector(self.net.parameters()).detach()
        self.net.load_state_dict(merged)
        after = nn.utils.parameters_to_vector(self.net.parameters()).detach()
        return (after - before).norm().item()

    def evaluate(self):
        self.net.eval()
        x, y = self.test
        with torch.no_grad():
            return (self.net(x).argmax(1) == y).float().mean().item()

    def run(self, rounds, fraction):
        for number in range(rounds):
            chosen = random.sample(self.clients, max(2, int(fraction * len(self.clients))))
            updates = [client.train(self.net, epochs=2, lr=0.05, mu=0.01) for client in chosen]
            drift = self.aggregate(updates)
            loss = sum(loss for _, _, loss in updates) / len(updates)
            self.rounds.append(Round(number, loss, self.evaluate(), drift))


rule = torch.randn(12, 3)
clients = [Client(rule, 0.3 * torch.randn(12)) for _ in range(5)]
x_test = torch.randn(100, 12)
server = Server(clients, (x_test, (x_test @ rule).argmax(dim=1)))
server.run(rounds=3, fraction=0.6)
for r in server.rounds:
    print(f"{r.number} {r.loss:.3f} {r.accuracy:.3f} {r.drift:.3f}")
