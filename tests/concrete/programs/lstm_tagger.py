"""A bidirectional LSTM that tags sentences of different lengths, with packing and a masked loss."""

import random

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(1)
random.seed(1)
PAD = 0
WORDS, TAGS = 40, 5


def make_corpus(count):
    corpus = []
    for _ in range(count):
        words = torch.randint(1, WORDS, (random.randint(3, 9),))
        tags = (words + words.roll(1)) % (TAGS - 1) + 1
        corpus.append((words, tags))
    return corpus


def batches(corpus, size, shuffle=False):
    order = list(range(len(corpus)))
    if shuffle:
        random.shuffle(order)
    for start in range(0, len(order), size):
        part = [corpus[i] for i in order[start : start + size]]
        words = pad_sequence([w for w, _ in part], batch_first=True, padding_value=PAD)
        tags = pad_sequence([t for _, t in part], batch_first=True, padding_value=PAD)
        yield words, tags, torch.tensor([len(w) for w, _ in part])


class Tagger(nn.Module):
    def __init__(self, dim=16, hidden=24):
        super().__init__()
        self.embed = nn.Embedding(WORDS, dim, padding_idx=PAD)
        self.drop = nn.Dropout(0.2)
        self.lstm = nn.LSTM(dim, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, TAGS)

    def forward(self, words, lengths):
        embedded = self.drop(self.embed(words))
        packed = pack_padded_sequence(embedded, lengths, batch_first=True, enforce_sorted=False)
        states, _ = self.lstm(packed)
        states, _ = pad_packed_sequence(states, batch_first=True)
        return self.out(self.drop(states))


criterion = nn.CrossEntropyLoss(ignore_index=PAD)
train_corpus, dev_corpus = make_corpus(32), make_corpus(16)
model = Tagger()
optimizer = torch.optim.Adam(model.parameters(), lr=5e-3)
scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=3, gamma=0.5)


def evaluate():
    model.eval()
    right = total = 0
    loss_sum = 0.0
    with torch.no_grad():
        for words, tags, lengths in batches(dev_corpus, 8):
            scores = model(words, lengths)
            loss_sum += criterion(scores.flatten(0, 1), tags.flatten())
            mask = tags != PAD
            right += (scores.argmax(-1) == tags)[mask].sum().item()
            total += mask.sum().item()
    return loss_sum.item(), right / total


curve = []
for epoch in range(3):
    model.train()
    epoch_loss = 0.0
    for words, tags, lengths in batches(train_corpus, 8, shuffle=True):
        optimizer.zero_grad()
        scores = model(words, lengths)
        loss = criterion(scores.flatten(0, 1), tags.flatten())
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        epoch_loss += loss.item()
    scheduler.step()
    dev_loss, accuracy = evaluate()
    curve.append((epoch_loss, dev_loss, accuracy))
    print(f"{epoch} {epoch_loss:.3f} {dev_loss:.3f} {accuracy:.3f}")
