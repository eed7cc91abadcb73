import torch
from torch import nn

torch.manual_seed(0)
text = torch.randint(0, 12, (4, 200))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(12, 8)
        self.lstm = nn.LSTM(8, 16, num_layers=2, dropout=0.2, batch_first=True)
        self.out = nn.Linear(16, 12)

    def forward(self, x, state):
        h, state = self.lstm(self.embed(x), state)
        return self.out(h), state


def detached(state):
    return tuple(one.detach() for one in state)


model = Model()
optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
criterion = nn.CrossEntropyLoss()
for epoch in range(2):
    model.train()
    state = (torch.zeros(2, 4, 16), torch.zeros(2, 4, 16))
    total = 0.0
    for start in range(0, 180, 20):
        x, y = text[:, start : start + 20], text[:, start + 1 : start + 21]
        state = detached(state)
        optimizer.zero_grad()
        scores, state = model(x, state)
        loss = criterion(scores.reshape(-1, 12), y.reshape(-1))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.25)
        optimizer.step()
        total += loss.item()
    model.eval()
    with torch.no_grad():
        state = (torch.zeros(2, 1, 16), torch.zeros(2, 1, 16))
        letter = torch.zeros(1, 1, dtype=torch.long)
        written = []
        for _ in range(10):
            scores, state = model(letter, state)
            letter = torch.multinomial(scores[:, -1].softmax(-1), 1)
            written.append(letter.item())

cell = nn.GRUCell(4, 8)
head = nn.Linear(8, 1)
optimizer = torch.optim.Adam([*cell.parameters(), *head.parameters()])
for step in range(8):
    h = torch.zeros(6, 8)
    loss = 0.0
    for t in range(10):
        x = torch.randn(6, 4)
        h = cell(x, h)
        loss = loss + (head(h).squeeze(1) - x.sum(1)).pow(2).mean()
    optimizer.zero_grad()
    (loss / 10).backward()
    optimizer.step()
print(total, written, loss.item())
