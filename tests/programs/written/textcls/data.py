"""A toy corpus, a vocabulary and padded batches."""
import random

import torch
from torch.nn.utils.rnn import pad_sequence

GOOD, BAD = "fine great lovely superb".split(), "poor dull awful weak".split()
FILLER = "the a film plot actor scene was is".split()


def toy_corpus(n=40):
    rng = random.Random(0)
    texts, labels = [], []
    for i in range(n):
        label = i % 2
        words = rng.choices(FILLER, k=rng.randint(2, 5)) + [rng.choice(GOOD if label else BAD)]
        rng.shuffle(words)
        texts.append(words)
        labels.append(label)
    return texts, labels


class Vocab:
    def __init__(self, texts):
        self.itos = ["<pad>", "<unk>"] + sorted({w for t in texts for w in t})
        self.stoi = {w: i for i, w in enumerate(self.itos)}

    def __len__(self):
        return len(self.itos)

    def encode(self, words):
        return torch.tensor([self.stoi.get(w, 1) for w in words])


def iterate(texts, labels, vocab, batch_size):
    for start in range(0, len(texts), batch_size):
        chunk = [vocab.encode(t) for t in texts[start:start + batch_size]]
        tokens = pad_sequence(chunk, batch_first=True, padding_value=0)
        yield tokens, torch.tensor(labels[start:start + batch_size])
