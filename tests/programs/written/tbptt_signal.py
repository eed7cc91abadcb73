"""Train a GRU cell on an endless signal with truncated backpropagation through time.

The state is carried over the whole signal; every k1 steps we backpropagate through the last window only.
"""
import torch
from torch import nn


class TBPTT:
    def __init__(self, cell, readout, loss_fn, optimizer, window):
        self.cell = cell
        self.readout = readout
        self.loss_fn = loss_fn
        self.optimizer = optimizer
        self.window = window

    def train(self, signal, state):
        losses = []
        window_loss = 0.0
        for j in range(signal.size(0) - 1):
            state = self.cell(signal[j].view(1, 1), state)
            prediction = self.readout(state)
            window_loss = window_loss + self.loss_fn(prediction, signal[j + 1].view(1, 1))
            if (j + 1) % self.window == 0:
                self.optimizer.zero_grad()
                window_loss.backward()
                nn.utils.clip_grad_value_(self.cell.parameters(), 1.0)
                self.optimizer.step()
                losses.append(window_loss.item() / self.window)
                state = state.detach()
                window_loss = 0.0
        return losses, state


def free_run(cell, readout, state, start, n):
    """Feed predictions back; nothing is kept but numbers."""
    outputs = []
    x = start.view(1, 1)
    for _ in range(n):
        state = cell(x, state)
        x = readout(state)
        outputs.append(x.item())
    return outputs


def main(epochs=2, hidden=12):
    torch.manual_seed(0)
    signal = torch.sin(torch.arange(0, 60) * 0.3)
    cell, readout = nn.GRUCell(1, hidden), nn.Linear(hidden, 1)
    params = list(cell.parameters()) + list(readout.parameters())
    runner = TBPTT(cell, readout, nn.MSELoss(), torch.optim.Adam(params, lr=1e-2), window=8)
    for epoch in range(epochs):
        losses, state = runner.train(signal, torch.zeros(1, hidden))
        print(epoch, sum(losses) / len(losses))
    print(free_run(cell, readout, state, signal[-1], 5))


if __name__ == "__main__":
    main()
