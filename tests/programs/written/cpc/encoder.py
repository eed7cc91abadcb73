import torch.nn as nn


class Encoder(nn.Module):
    def __init__(self, channels=16, strides=(4, 2)):
        super().__init__()
        c_in, layers = 1, []
        for stride in strides:
            layers.append(nn.Conv1d(c_in, channels, 2 * stride, stride, stride // 2))
            layers.append(nn.BatchNorm1d(channels))
            layers.append(nn.ReLU(inplace=True))
            c_in = channels
        self.layers = nn.Sequential(*layers)

    def forward(self, wave):
        return self.layers(wave.unsqueeze(1)).transpose(1, 2)


class Context(nn.Module):
    def __init__(self, channels=16, hidden=16):
        super().__init__()
        self.rnn = nn.GRU(channels, hidden, batch_first=True)
        self.state = None

    def reset(self):
        self.state = None

    def forward(self, z, carry=False):
        out, state = self.rnn(z, self.state if carry else None)
        self.state = state.detach()
        return out
