"""What the fragments take for granted: networks, optimizers, losses, and data, under the names that people use."""

# ruff: noqa: F401, N812, N816
from types import SimpleNamespace
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn, optim

device = "cpu"
num_epochs = 2
train_loader = loader = [(torch.randn(6, 4), torch.randint(3, (6,))) for _ in range(3)]
model = nn.Linear(4, 3)
optimizer = optim.SGD(model.parameters(), lr=0.1)
criterion = nn.CrossEntropyLoss()
before = model.weight.detach().clone()

generator, netG = nn.Linear(2, 4), nn.Linear(2, 4)
netD = nn.Sequential(nn.Linear(4, 4), nn.LeakyReLU(0.2), nn.Linear(4, 1))
optimizerG = optim.SGD(netG.parameters(), lr=0.1)
optimizerD = optim.SGD(netD.parameters(), lr=0.1)
bce_loss = nn.BCEWithLogitsLoss()
ones, zeros = torch.ones(6, 1), torch.zeros(6, 1)


class Reader(nn.Module):
    """A recurrent network that is given its state and gives it back."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.GRU(4, 8, batch_first=True)
        self.out = nn.Linear(8, 3)

    def init_hidden(self, batch: int) -> torch.Tensor:
        return torch.zeros(1, batch, 8)

    def forward(self, x, hidden):  # type: ignore[no-untyped-def]
        """Scores at the last step, and the state behind it."""
        out, hidden = self.rnn(x, hidden)
        return self.out(out[:, -1]), hidden


rnn_model = Reader()
rnn_optimizer = optim.SGD(rnn_model.parameters(), lr=0.1)
sequences = [(torch.randn(6, 5, 4), torch.randint(3, (6,))) for _ in range(3)]


class Coder(nn.Module):
    """A variational autoencoder."""

    def __init__(self) -> None:
        super().__init__()
        self.encode, self.decode = nn.Linear(4, 4), nn.Linear(2, 4)

    def forward(self, x):  # type: ignore[no-untyped-def]
        """The reconstruction, and mean and log variance of the code."""
        mu, logvar = self.encode(x).chunk(2, dim=1)
        return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar


vae = Coder()
opt = optim.SGD(vae.parameters(), lr=0.1)

X, y = torch.randn(20, 4), torch.rand(20, 1)


class Results(dict[str, torch.Tensor]):
    """Named results; a loop over them takes the values."""

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.values())


class Named(nn.Module):
    """A network with named results."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 3)

    def forward(self, x):  # type: ignore[no-untyped-def]
        """The results of a layer, and a loss of them."""
        hidden = self.layer(x)
        return Results(loss=hidden.pow(2).mean(), hidden=hidden)


named_model = Named()
only_detaches = False
n_features, lr = 4, 0.1


class MyModel(nn.Linear):
    """A network that is made where it is used."""

    def __init__(self) -> None:
        super().__init__(4, 3)
