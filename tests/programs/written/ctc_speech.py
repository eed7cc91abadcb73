"""Speech recognition in miniature: CTC on synthetic spectrograms."""
import argparse
import os
import sys
from functools import partial

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader, Dataset

BLANK = 0
ALPHABET = "_abcde"


class Utterances(Dataset):
    """Each letter sounds for a few frames in its own band."""

    def __init__(self, n, bands=8, seed=0):
        g = torch.Generator().manual_seed(seed)
        self.items = []
        for _ in range(n):
            length = int(torch.randint(2, 5, (1,), generator=g))
            text = torch.randint(1, len(ALPHABET), (length,), generator=g)
            frames = []
            for letter in text.tolist():
                for _ in range(int(torch.randint(3, 6, (1,), generator=g))):
                    frame = 0.1 * torch.randn(bands, generator=g)
                    frame[letter] += 1.0
                    frames.append(frame)
            self.items.append((torch.stack(frames), text))

    def __len__(self):
        return len(self.items)

    def __getitem__(self, i):
        return self.items[i]


def collate(batch, pad_value=0.0):
    batch = sorted(batch, key=lambda item: -len(item[0]))
    specs, texts = zip(*batch)
    return (pad_sequence(specs, batch_first=True, padding_value=pad_value), torch.tensor([len(s) for s in specs]),
            torch.cat(texts), torch.tensor([len(t) for t in texts]))


class Recognizer(nn.Module):
    def __init__(self, bands=8, hidden=16):
        super().__init__()
        self.conv = nn.Conv1d(bands, hidden, 3, padding=1)
        self.norm = nn.BatchNorm1d(hidden)
        self.rnn = nn.GRU(hidden, hidden, batch_first=True, bidirectional=True)
        self.out = nn.Linear(2 * hidden, len(ALPHABET))

    def forward(self, specs, lengths):
        x = F.hardtanh(self.norm(self.conv(specs.transpose(1, 2))), 0, 20, inplace=True)
        packed = pack_padded_sequence(x.transpose(1, 2), lengths, batch_first=True)
        hidden, _ = pad_packed_sequence(self.rnn(packed)[0], batch_first=True)
        return F.log_softmax(self.out(hidden), dim=-1)


def greedy_decode(log_probs, lengths):
    best = log_probs.argmax(-1)
    texts = []
    for row, n in zip(best.tolist(), lengths.tolist()):
        collapsed = [k for i, k in enumerate(row[:n]) if k != BLANK and (i == 0 or k != row[i - 1])]
        texts.append("".join(ALPHABET[k] for k in collapsed))
    return texts


class Runner:
    def __init__(self, args):
        self.args = args
        self.model = Recognizer()
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr)
        self.criterion = nn.CTCLoss(blank=BLANK, zero_infinity=True)
        self.best = float('inf')

    def run_epoch(self, loader, train=True):
        self.model.train(train)
        total, n = 0.0, 0
        for specs, spec_lens, texts, text_lens in loader:
            with torch.set_grad_enabled(train):
                log_probs = self.model(specs, spec_lens)
                loss = self.criterion(log_probs.transpose(0, 1), texts, spec_lens, text_lens)
            if train:
                self.optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(self.model.parameters(), self.args.clip)
                self.optimizer.step()
            total += loss.item() * len(specs)
            n += len(specs)
        return total / n

    def run(self):
        make = partial(DataLoader, batch_size=self.args.batch, collate_fn=collate)
        train_loader, dev_loader = make(Utterances(24), shuffle=True), make(Utterances(8, seed=1))
        for epoch in range(self.args.epochs):
            train_loss = self.run_epoch(train_loader)
            dev_loss = self.run_epoch(dev_loader, train=False)
            if dev_loss < self.best:
                self.best = dev_loss
                torch.save(self.model.state_dict(), os.path.join(self.args.save, "best.pt"))
            print("%d train %.3f dev %.3f" % (epoch, train_loss, dev_loss), file=sys.stderr)
        specs, lens, _, _ = next(iter(dev_loader))
        with torch.inference_mode():
            print(greedy_decode(self.model(specs, lens), lens))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--lr", type=float, default=5e-3)
    parser.add_argument("--clip", type=float, default=5.0)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--save", default=".")
    torch.manual_seed(0)
    Runner(parser.parse_args()).run()
