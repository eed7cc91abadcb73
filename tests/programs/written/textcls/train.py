"""python textcls/train.py: a text classifier in several files."""
import torch
from torch import optim

from data import Vocab, iterate, toy_corpus
from engine import evaluate, fit
from models.attention import AttentionClassifier

config = {
    "dim": 12,
    "heads": 2,
    "epochs": 2,
    "batch_size": 8,
    "lr": 3e-3,
}


def build(vocab, config):
    model = AttentionClassifier(len(vocab), config["dim"], config["heads"], n_classes=2)
    optimizer = optim.Adam(model.parameters(), lr=config["lr"])
    scheduler = optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=config["epochs"])
    return model, optimizer, scheduler


def main():
    torch.manual_seed(0)
    texts, labels = toy_corpus()
    vocab = Vocab(texts)
    model, optimizer, scheduler = build(vocab, config)
    for epoch in range(config["epochs"]):
        batches = iterate(texts, labels, vocab, config["batch_size"])
        loss = fit(model, batches, optimizer)
        scheduler.step()
        acc = evaluate(model, iterate(texts, labels, vocab, config["batch_size"]))
        print("epoch", epoch, "loss", round(loss, 4), "acc", round(acc, 3))


if __name__ == "__main__":
    main()
