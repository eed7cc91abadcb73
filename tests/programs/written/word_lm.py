# Word level language model: LSTM with truncated backpropagation through time
import argparse
import math
import time

import torch
import torch.nn as nn

parser = argparse.ArgumentParser(description='toy LSTM language model')
parser.add_argument('--emsize', type=int, default=16)
parser.add_argument('--nhid', type=int, default=24)
parser.add_argument('--lr', type=float, default=5)
parser.add_argument('--clip', type=float, default=0.25)
parser.add_argument('--bptt', type=int, default=7)
parser.add_argument('--batch_size', type=int, default=4)
parser.add_argument('--epochs', type=int, default=2)
parser.add_argument('--tied', action='store_true')
args = parser.parse_args()
torch.manual_seed(1111)
ntokens = 20
corpus = torch.arange(400) % ntokens


def batchify(data, bsz):
    nbatch = data.size(0) // bsz
    data = data.narrow(0, 0, nbatch * bsz)
    return data.view(bsz, -1).t().contiguous()


def get_batch(source, i):
    seq_len = min(args.bptt, len(source) - 1 - i)
    return source[i:i + seq_len], source[i + 1:i + 1 + seq_len].view(-1)


class RNNModel(nn.Module):
    def __init__(self, ntoken, ninp, nhid, dropout=0.2, tie_weights=False):
        super(RNNModel, self).__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(ntoken, ninp)
        self.rnn = nn.LSTM(ninp, nhid)
        self.decoder = nn.Linear(nhid, ntoken)
        if tie_weights:
            self.decoder.weight = self.encoder.weight
        self.nhid = nhid
        self.init_weights()

    def init_weights(self):
        initrange = 0.1
        self.encoder.weight.data.uniform_(-initrange, initrange)
        self.decoder.bias.data.zero_()
        self.decoder.weight.data.uniform_(-initrange, initrange)

    def forward(self, input, hidden):
        emb = self.drop(self.encoder(input))
        output, hidden = self.rnn(emb, hidden)
        decoded = self.decoder(self.drop(output))
        return decoded.view(-1, ntokens), hidden

    def init_hidden(self, bsz):
        weight = next(self.parameters())
        return (weight.new_zeros(1, bsz, self.nhid), weight.new_zeros(1, bsz, self.nhid))


def repackage_hidden(h):
    """Wraps hidden states in new Tensors, to detach them from their history."""
    if isinstance(h, torch.Tensor):
        return h.detach()
    return tuple(repackage_hidden(v) for v in h)


train_data = batchify(corpus[:300], args.batch_size)
val_data = batchify(corpus[300:], args.batch_size)
model = RNNModel(ntokens, args.emsize, args.nhid, tie_weights=args.tied)
criterion = nn.CrossEntropyLoss()


def evaluate(data_source):
    model.eval()
    total_loss = 0.
    hidden = model.init_hidden(args.batch_size)
    with torch.no_grad():
        for i in range(0, data_source.size(0) - 1, args.bptt):
            data, targets = get_batch(data_source, i)
            output, hidden = model(data, hidden)
            total_loss += len(data) * criterion(output, targets)
    return total_loss.item() / (len(data_source) - 1)


def train(lr):
    model.train()
    total_loss = 0.
    hidden = model.init_hidden(args.batch_size)
    for batch, i in enumerate(range(0, train_data.size(0) - 1, args.bptt)):
        data, targets = get_batch(train_data, i)
        model.zero_grad()
        hidden = repackage_hidden(hidden)
        output, hidden = model(data, hidden)
        loss = criterion(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        with torch.no_grad():
            for p in model.parameters():
                p.add_(p.grad, alpha=-lr)
        total_loss += loss.item()
    return total_loss


lr = args.lr
best_val_loss = None
for epoch in range(1, args.epochs + 1):
    start = time.time()
    train(lr)
    val_loss = evaluate(val_data)
    print('| end of epoch {:3d} | time {:5.2f}s | valid ppl {:8.2f}'.format(
        epoch, time.time() - start, math.exp(val_loss)))
    if not best_val_loss or val_loss < best_val_loss:
        best_val_loss = val_loss
    else:
        lr /= 4.0
