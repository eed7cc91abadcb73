import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(8)


class CharModel(nn.Module):
    def __init__(self, vocabulary=20, width=24):
        super().__init__()
        self.embed = nn.Embedding(vocabulary, width)
        self.rnn = nn.GRU(width, width, batch_first=True)
        self.head = nn.Linear(width, vocabulary)

    def forward(self, x, hidden):
        h, hidden = self.rnn(self.embed(x), hidden)
        return self.head(h), hidden


text = torch.randint(20, (4, 20 * 8 + 1))
model = CharModel()
lr = 0.5
for epoch in range(3):
    hidden, total = torch.zeros(1, 4, 24), 0.0
    for start in range(0, 20 * 8, 8):
        x, y = text[:, start : start + 8], text[:, start + 1 : start + 9]
        hidden = hidden.detach()
        scores, hidden = model(x, hidden)
        loss = F.cross_entropy(scores.reshape(-1, 20), y.reshape(-1))
        for p in model.parameters():
            p.grad = None
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        total += loss.item()
    lr *= 0.9

hidden, perplexity = torch.zeros(1, 4, 24), 0.0
model.eval()
with torch.no_grad():
    for start in range(0, 20 * 8, 8):
        scores, hidden = model(text[:, start : start + 8], hidden)
        perplexity += F.cross_entropy(scores.flatten(0, 1), text[:, start + 1 : start + 9].flatten()).item()
print(total, perplexity)
