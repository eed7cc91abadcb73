"""Training and evaluation loops."""
import torch
import torch.nn.functional as F
from torch.nn.utils import clip_grad_norm_


def step(model, batch, optimizer):
    tokens, labels = batch
    logits, attention = model(tokens)
    loss = F.cross_entropy(logits, labels)
    # a little entropy keeps the attention soft
    entropy = -(attention * (attention + 1e-9).log()).sum(-1).mean()
    total = loss - 1e-3 * entropy
    optimizer.zero_grad()
    total.backward()
    clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach()


def fit(model, batches, optimizer):
    model.train()
    total, n = 0.0, 0
    for batch in batches:
        total += step(model, batch, optimizer)
        n += 1
    return (total / n).item()


def evaluate(model, batches):
    model.eval()
    hits, n = 0, 0
    for tokens, labels in batches:
        with torch.no_grad():
            logits, _ = model(tokens)
        hits += (logits.argmax(1) == labels).sum().item()
        n += len(labels)
    return hits / n
