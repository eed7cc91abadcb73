"""nn.Transformer on a copy task with the Noam schedule, label smoothing and greedy decoding."""
import math
import time

import torch
import torch.nn as nn
from torch import Tensor

PAD, BOS, VOCAB, LENGTH = 0, 1, 12, 6


class NoamOpt:
    "Optim wrapper that implements rate."

    def __init__(self, model_size, factor, warmup, optimizer):
        self.optimizer = optimizer
        self._step = 0
        self.warmup = warmup
        self.factor = factor
        self.model_size = model_size
        self._rate = 0

    def step(self):
        "Update parameters and rate"
        self._step += 1
        rate = self.rate()
        for p in self.optimizer.param_groups:
            p['lr'] = rate
        self._rate = rate
        self.optimizer.step()

    def rate(self, step=None):
        step = self._step if step is None else step
        return self.factor * (self.model_size ** (-0.5) * min(step ** (-0.5), step * self.warmup ** (-1.5)))


class LabelSmoothing(nn.Module):
    "Implement label smoothing."

    def __init__(self, size, padding_idx, smoothing=0.0):
        super().__init__()
        self.criterion = nn.KLDivLoss(reduction="sum")
        self.padding_idx = padding_idx
        self.confidence = 1.0 - smoothing
        self.smoothing = smoothing
        self.size = size
        self.true_dist = None

    def forward(self, x, target):
        true_dist = x.data.clone()
        true_dist.fill_(self.smoothing / (self.size - 2))
        true_dist.scatter_(1, target.data.unsqueeze(1), self.confidence)
        true_dist[:, self.padding_idx] = 0
        mask = torch.nonzero(target.data == self.padding_idx)
        if mask.dim() > 0:
            true_dist.index_fill_(0, mask.squeeze(-1), 0.0)
        self.true_dist = true_dist
        return self.criterion(x, true_dist.clone().detach())


class Seq2Seq(nn.Module):
    def __init__(self, d_model: int = 16) -> None:
        super().__init__()
        self.embed = nn.Embedding(VOCAB, d_model)
        self.scale = math.sqrt(d_model)
        position = torch.arange(32).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        pe = torch.zeros(32, d_model)
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))
        self.transformer = nn.Transformer(d_model, 2, 1, 1, 32, dropout=0.1, batch_first=True)
        self.generator = nn.Linear(d_model, VOCAB)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def encode_positions(self, tokens: Tensor) -> Tensor:
        return self.embed(tokens) * self.scale + self.pe[:, :tokens.size(1)].requires_grad_(False)

    def forward(self, src: Tensor, tgt: Tensor) -> Tensor:
        mask = nn.Transformer.generate_square_subsequent_mask(tgt.size(1))
        out = self.transformer(self.encode_positions(src), self.encode_positions(tgt), tgt_mask=mask)
        return torch.log_softmax(self.generator(out), dim=-1)


def data_gen(batch, nbatches):
    "Generate random data for a src-tgt copy task."
    for _ in range(nbatches):
        data = torch.randint(2, VOCAB, (batch, LENGTH))
        data[:, 0] = BOS
        yield data, data


def run_epoch(data_iter, model, criterion, opt=None):
    start = time.time()
    total_tokens, total_loss = 0, 0
    for i, (src, tgt) in enumerate(data_iter):
        out = model(src, tgt[:, :-1])
        y = tgt[:, 1:]
        ntokens = (y != PAD).data.sum()
        loss = criterion(out.contiguous().view(-1, VOCAB), y.contiguous().view(-1)) / ntokens
        if opt is not None:
            loss.backward()
            opt.step()
            opt.optimizer.zero_grad()
        total_loss += loss.data * ntokens
        total_tokens += ntokens
    print("%d batches %.1f s" % (i + 1, time.time() - start))
    return total_loss / total_tokens


def greedy_decode(model, src):
    ys = torch.full((src.size(0), 1), BOS).type_as(src.data)
    for _ in range(LENGTH - 1):
        prob = model(src, ys)[:, -1]
        _, next_word = torch.max(prob, dim=1)
        ys = torch.cat([ys, next_word.data.unsqueeze(1)], dim=1)
    return ys


torch.manual_seed(0)
model = Seq2Seq()
criterion = LabelSmoothing(size=VOCAB, padding_idx=PAD, smoothing=0.1)
model_opt = NoamOpt(16, 1, 20, torch.optim.Adam(model.parameters(), lr=0, betas=(0.9, 0.98), eps=1e-9))
for epoch in range(2):
    model.train()
    train_loss = run_epoch(data_gen(8, 5), model, criterion, model_opt)
    model.eval()
    print(train_loss, run_epoch(data_gen(8, 2), model, criterion, None))
print(greedy_decode(model, torch.arange(1, 1 + LENGTH).unsqueeze(0)))
