"""A memory-augmented network on the copy task; memory and heads keep their state on the modules."""
import random

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class Memory(nn.Module):
    def __init__(self, N, M):
        super(Memory, self).__init__()
        self.N, self.M = N, M
        # The memory bias allows the heads to learn how to initially address memory locations by content
        self.register_buffer('mem_bias', torch.Tensor(N, M))
        stdev = 1 / (np.sqrt(N + M))
        nn.init.uniform_(self.mem_bias, -stdev, stdev)

    def reset(self, batch_size):
        self.batch_size = batch_size
        self.memory = self.mem_bias.clone().repeat(batch_size, 1, 1)

    def read(self, w):
        return torch.matmul(w.unsqueeze(1), self.memory).squeeze(1)

    def write(self, w, e, a):
        self.prev_mem = self.memory
        erase = torch.matmul(w.unsqueeze(-1), e.unsqueeze(1))
        add = torch.matmul(w.unsqueeze(-1), a.unsqueeze(1))
        self.memory = self.prev_mem * (1 - erase) + add

    def address(self, k, beta, g, w_prev):
        k = k.view(self.batch_size, 1, -1)
        wc = F.softmax(beta * F.cosine_similarity(self.memory + 1e-16, k + 1e-16, dim=-1), dim=1)
        return g * wc + (1 - g) * w_prev


class Head(nn.Module):
    def __init__(self, controller_size, M, write):
        super(Head, self).__init__()
        self.sizes = [M, 1, 1] + ([M, M] if write else [])
        self.fc = nn.Linear(controller_size, sum(self.sizes))
        self.write = write

    def forward(self, memory, controller, w_prev):
        parts = torch.split(self.fc(controller), self.sizes, dim=1)
        k, beta, g = parts[:3]
        w = memory.address(torch.tanh(k), F.softplus(beta), torch.sigmoid(g), w_prev)
        if self.write:
            memory.write(w, torch.sigmoid(parts[3]), parts[4])
            return w
        return w, memory.read(w)


class EncapsulatedNTM(nn.Module):
    def __init__(self, num_inputs, num_outputs, controller_size=20, N=8, M=6):
        super(EncapsulatedNTM, self).__init__()
        self.memory = Memory(N, M)
        self.controller = nn.LSTMCell(num_inputs + M, controller_size)
        self.heads = nn.ModuleList([Head(controller_size, M, False), Head(controller_size, M, True)])
        self.fc = nn.Linear(controller_size + M, num_outputs)
        self.h_bias = nn.Parameter(torch.randn(1, controller_size) * 0.05)
        self.num_inputs, self.num_outputs, self.N, self.M = num_inputs, num_outputs, N, M

    def init_sequence(self, batch_size):
        """Initializing the state."""
        self.batch_size = batch_size
        self.memory.reset(batch_size)
        hidden = self.h_bias.clone().repeat(batch_size, 1), torch.zeros(batch_size, self.h_bias.size(1))
        weights = [torch.zeros(batch_size, self.N) for _ in self.heads]
        self.previous_state = torch.zeros(batch_size, self.M), hidden, weights

    def forward(self, x=None):
        if x is None:
            x = torch.zeros(self.batch_size, self.num_inputs)
        read, hidden, weights = self.previous_state
        h, c = self.controller(torch.cat([x, read], dim=1), hidden)
        states = []
        for head, prev in zip(self.heads, weights):
            if head.write:
                states.append(head(self.memory, h, prev))
            else:
                w, read = head(self.memory, h, prev)
                states.append(w)
        self.previous_state = read, (h, c), states
        return torch.sigmoid(self.fc(torch.cat([h, read], dim=1)))


def dataloader(num_batches, batch_size, seq_width, max_len):
    for _ in range(num_batches):
        seq_len = random.randint(2, max_len)
        seq = torch.from_numpy(np.random.binomial(1, 0.5, (seq_len, batch_size, seq_width))).float()
        inp = torch.zeros(seq_len + 1, batch_size, seq_width + 1)
        inp[:seq_len, :, :seq_width] = seq
        inp[seq_len, :, seq_width] = 1.0  # delimiter in our control channel
        yield inp, seq.clone()


def clip_grads(net):
    """Gradient clipping to the range [10, 10]."""
    parameters = list(filter(lambda p: p.grad is not None, net.parameters()))
    for p in parameters:
        p.grad.data.clamp_(-10, 10)


def train_batch(net, criterion, optimizer, X, Y):
    optimizer.zero_grad()
    inp_seq_len, batch_size = X.size(0), X.size(1)
    net.init_sequence(batch_size)
    for i in range(inp_seq_len):
        net(X[i])
    y_out = torch.zeros(Y.size())
    for i in range(Y.size(0)):
        y_out[i] = net()
    loss = criterion(y_out, Y)
    loss.backward()
    clip_grads(net)
    optimizer.step()
    y_out_binarized = y_out.clone().data
    y_out_binarized.apply_(lambda x: 0 if x < 0.5 else 1)
    cost = torch.sum(torch.abs(y_out_binarized - Y.data))
    return loss.item(), cost.item() / batch_size


random.seed(0)
np.random.seed(0)
torch.manual_seed(0)
net = EncapsulatedNTM(5, 4)
optimizer = torch.optim.RMSprop(net.parameters(), momentum=0.9, alpha=0.95, lr=1e-4)
losses, costs = [], []
for batch_num, (x, y) in enumerate(dataloader(6, 3, 4, 4)):
    loss, cost = train_batch(net, nn.BCELoss(), optimizer, x, y)
    losses += [loss]
    costs += [cost]
print(np.array(losses).mean(), np.array(costs).mean())
