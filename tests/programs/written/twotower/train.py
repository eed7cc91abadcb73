import torch

from twotower.data import loaders
from twotower.model import TwoTower, in_batch_softmax


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, None, 0

    def __call__(self, value):
        if self.best is None or value > self.best:
            self.best, self.bad = value, 0
        else:
            self.bad += 1
        return self.bad >= self.patience


def evaluate(model, loader):
    model.eval()
    hits, total = 0, 0
    with torch.no_grad():
        for batch in loader:
            hits += (model(batch).argmax(1) == torch.arange(len(batch["user"]))).sum().item()
            total += len(batch["user"])
    return hits / total


def fit(model, train, test, epochs=3):
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    stop = EarlyStopping(patience=2)
    log = []
    for epoch in range(epochs):
        model.train()
        running = torch.zeros(())
        for batch in train:
            model.count(batch["item"])
            loss = in_batch_softmax(model(batch))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.detach()
        log.append((running / len(train)).item())
        if stop(evaluate(model, test)):
            break
    return log


if __name__ == "__main__":
    torch.manual_seed(0)
    train, test = loaders(20, 30, 16)
    model = TwoTower(20, 30)
    print(fit(model, train, test))
