"""Split learning: client and server hold halves of a network and exchange activations and gradients."""
import io
import logging

import torch
from torch import nn, optim

log = logging.getLogger("split")


class Channel:
    """Serialises tensors as a network would; what arrives has no history."""

    def __init__(self):
        self.sent_bytes = 0

    def send(self, tensor):
        buffer = io.BytesIO()
        torch.save(tensor.detach(), buffer)
        self.sent_bytes += buffer.tell()
        buffer.seek(0)
        return torch.load(buffer)


class Client:
    def __init__(self, data, labels):
        self.model = nn.Sequential(nn.Conv1d(1, 4, 3, padding=1), nn.ReLU(), nn.MaxPool1d(2))
        self.opt = optim.SGD(self.model.parameters(), lr=0.05)
        self.data, self.labels = data, labels
        self.activations = None

    def forward(self, idx):
        self.activations = self.model(self.data[idx])
        return self.activations

    def backward(self, gradient):
        self.opt.zero_grad()
        self.activations.backward(gradient)
        self.opt.step()
        self.activations = None

    def get_weights(self):
        return {k: v.cpu().clone() for k, v in self.model.state_dict().items()}


class Server:
    def __init__(self):
        self.model = nn.Sequential(nn.Flatten(), nn.Linear(4 * 8, 16), nn.ReLU(), nn.Linear(16, 2))
        self.opt = optim.SGD(self.model.parameters(), lr=0.05)
        self.criterion = nn.CrossEntropyLoss()
        self.train_losses = []

    def step(self, smashed, labels):
        smashed = smashed.requires_grad_()
        output = self.model(smashed)
        loss = self.criterion(output, labels)
        self.opt.zero_grad()
        loss.backward()
        self.opt.step()
        self.train_losses.append(loss.detach())
        return smashed.grad, (output.argmax(1) == labels).sum().item()

    def mean_loss(self):
        mean = torch.stack(self.train_losses).mean().item()
        self.train_losses = []
        return mean


def run(n_clients=2, rounds=2, batch=10):
    torch.manual_seed(0)
    t = torch.linspace(0, 6.28, 16)
    clients, server, channel = [], Server(), Channel()
    for c in range(n_clients):
        labels = torch.randint(0, 2, (40,))
        data = torch.stack([torch.sin(t * (1 + k)) for k in labels.tolist()]).unsqueeze(1)
        data += 0.2 * torch.randn_like(data)
        clients.append(Client(data, labels))
    for r in range(rounds):
        hits = 0
        for i, client in enumerate(clients):
            if i or r:
                # the next client continues from the weights of the one before
                client.model.load_state_dict(clients[i - 1].get_weights())
            for idx in torch.randperm(40).split(batch):
                smashed = channel.send(client.forward(idx))
                gradient, correct = server.step(smashed, client.labels[idx])
                client.backward(channel.send(gradient))
                hits += correct
        log.warning("round %d loss %.3f acc %.2f", r, server.mean_loss(), hits / (40 * n_clients))
    return channel.sent_bytes


if __name__ == "__main__":
    print(run())
