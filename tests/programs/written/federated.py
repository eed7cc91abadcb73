"""Federated averaging with proximal terms, and evolution strategies as a gradient-free baseline."""
from __future__ import annotations

import copy
from typing import Iterator

import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.utils.data import DataLoader, Subset, TensorDataset


def make_clients(n_clients: int, seed: int = 0) -> tuple[list[Subset], TensorDataset]:
    g = torch.Generator().manual_seed(seed)
    x = torch.randn(40 * n_clients, 5, generator=g)
    y = (x @ torch.randn(5, 3, generator=g)).argmax(1)
    dataset = TensorDataset(x, y)
    # every client sees mostly one class
    order = torch.argsort(y + 0.8 * torch.rand(len(y), generator=g))
    return [Subset(dataset, chunk.tolist()) for chunk in order.chunk(n_clients)], dataset


class Client:
    def __init__(self, data: Subset, lr: float = 0.1, mu: float = 0.01) -> None:
        self.loader = DataLoader(data, batch_size=10, shuffle=True)
        self.lr, self.mu = lr, mu

    def train(self, global_model: nn.Module, epochs: int = 1) -> tuple[dict[str, torch.Tensor], int]:
        model = copy.deepcopy(global_model)
        anchor = [p.detach().clone() for p in global_model.parameters()]
        optimizer = torch.optim.SGD(model.parameters(), lr=self.lr)
        criterion = nn.CrossEntropyLoss()
        for _ in range(epochs):
            for x, y in self.loader:
                optimizer.zero_grad()
                loss = criterion(model(x), y)
                proximal = sum((p - a).pow(2).sum() for p, a in zip(model.parameters(), anchor))
                (loss + 0.5 * self.mu * proximal).backward()
                optimizer.step()
        return model.state_dict(), len(self.loader.dataset)


def average(states: list[tuple[dict[str, torch.Tensor], int]]) -> dict[str, torch.Tensor]:
    total = sum(n for _, n in states)
    result = copy.deepcopy(states[0][0])
    for key in result:
        result[key] *= states[0][1] / total
        for state, n in states[1:]:
            result[key] += state[key] * (n / total)
    return result


@torch.no_grad()
def accuracy(model: nn.Module, dataset: TensorDataset) -> float:
    x, y = dataset.tensors
    return (model(x).argmax(1) == y).float().mean().item()


def evolution(model: nn.Module, dataset: TensorDataset, generations: int = 3, sigma: float = 0.1) -> Iterator[float]:
    """No gradients at all: parameters are written through vector_to_parameters."""
    x, y = dataset.tensors
    mean = parameters_to_vector(model.parameters()).detach()
    for _ in range(generations):
        noise = torch.randn(8, mean.numel())
        scores = torch.zeros(8)
        for i, eps in enumerate(noise):
            vector_to_parameters(mean + sigma * eps, model.parameters())
            with torch.no_grad():
                scores[i] = -nn.functional.cross_entropy(model(x), y)
        scores = (scores - scores.mean()) / (scores.std() + 1e-8)
        mean = mean + 0.1 / sigma * (scores.unsqueeze(1) * noise).mean(0)
        vector_to_parameters(mean, model.parameters())
        yield accuracy(model, dataset)


def main() -> None:
    torch.manual_seed(0)
    shards, dataset = make_clients(4)
    server = nn.Sequential(nn.Linear(5, 12), nn.ReLU(), nn.Linear(12, 3))
    clients = [Client(shard) for shard in shards]
    for round_ in range(3):
        updates = [client.train(server) for client in clients]
        server.load_state_dict(average(updates))
        print("round", round_, "accuracy", round(accuracy(server, dataset), 3))
    for value in evolution(copy.deepcopy(server), dataset):
        print("evolution", round(value, 3))


if __name__ == "__main__":
    main()
