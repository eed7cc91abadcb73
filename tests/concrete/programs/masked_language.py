"""A masked language model: a tiny encoder with tied weights fills in hidden tokens of synthetic sentences."""

import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

random.seed(0)
torch.manual_seed(0)
VOCAB, MASK, PAD, LENGTH, DIM = 24, 23, 0, 12, 32


class Sentences(Dataset):
    def __init__(self, count):
        self.rows = []
        for _ in range(count):
            start, stride = random.randint(1, 8), random.randint(1, 3)
            n = random.randint(8, LENGTH)
            row = [1 + (start + stride * i) % (MASK - 1) for i in range(n)]
            self.rows.append(row + [PAD] * (LENGTH - n))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return torch.tensor(self.rows[index])


def corrupt(tokens, rate=0.25):
    chosen = (torch.rand(tokens.shape) < rate) & (tokens != PAD)
    chosen[:, 0] = True
    inputs = tokens.masked_fill(chosen, MASK)
    labels = tokens.masked_fill(~chosen, -100)
    return inputs, labels


class Encoder(nn.Module):
    def __init__(self, layers=2):
        super().__init__()
        self.tokens = nn.Embedding(VOCAB, DIM, padding_idx=PAD)
        nn.init.normal_(self.tokens.weight, std=0.1)
        self.places = nn.Parameter(torch.randn(LENGTH, DIM) * 0.02)
        layer = nn.TransformerEncoderLayer(DIM, 4, 64, dropout=0.1, batch_first=True)
        self.body = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.norm = nn.LayerNorm(DIM)
        self.bias = nn.Parameter(torch.zeros(VOCAB))

    def forward(self, ids):
        x = self.tokens(ids) + self.places
        x = self.body(x, src_key_padding_mask=ids == PAD)
        return self.norm(x) @ self.tokens.weight.t() + self.bias


train_loader = DataLoader(Sentences(64), batch_size=16, shuffle=True)
valid_loader = DataLoader(Sentences(32), batch_size=16)
net = Encoder()
decay = [p for p in net.parameters() if p.dim() > 1]
plain = [p for p in net.parameters() if p.dim() <= 1]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01}, {"params": plain, "weight_decay": 0.0}], lr=3e-3)
EPOCHS = 3
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=5e-3, total_steps=EPOCHS * len(train_loader))


@torch.no_grad()
def validate():
    net.eval()
    right = seen = 0
    for tokens in valid_loader:
        inputs, labels = corrupt(tokens)
        guess = net(inputs).argmax(dim=-1)
        hidden = labels != -100
        right += (guess == labels)[hidden].sum().item()
        seen += hidden.sum().item()
    return right / seen


history = {"loss": [], "accuracy": []}
for epoch in range(EPOCHS):
    net.train()
    running = 0.0
    for tokens in train_loader:
        inputs, labels = corrupt(tokens)
        logits = net(inputs)
        loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten(), ignore_index=-100)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        running += loss.item()
    history["loss"].append(running / len(train_loader))
    history["accuracy"].append(validate())
    print(epoch, history["loss"][-1], history["accuracy"][-1])
