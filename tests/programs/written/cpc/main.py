import itertools

import torch
from torch import nn

from cpc.encoder import Context, Encoder
from cpc.objective import InfoNCE


def waves(batch=6, length=64):
    t = torch.arange(length) / 8
    while True:
        pitch = torch.rand(batch, 1) * 3 + 1
        yield torch.sin(pitch * t) + 0.1 * torch.randn(batch, length), (pitch > 2.5).long().squeeze(1)


def pretrain(encoder, context, objective, steps=6):
    parameters = list(itertools.chain.from_iterable(m.parameters() for m in (encoder, context, objective)))
    optimizer = torch.optim.Adam(parameters, lr=2e-3)
    for wave, _ in itertools.islice(waves(), steps):
        context.reset()
        z = encoder(wave)
        loss, accuracy = objective(context(z), z)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
    return loss.item(), accuracy


def probe(encoder, context, steps=4):
    for module in (encoder, context):
        module.requires_grad_(False).eval()
    head = nn.Linear(16, 2)
    optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
    for wave, label in itertools.islice(waves(), steps):
        features = context(encoder(wave)).mean(1)
        loss = nn.functional.cross_entropy(head(features), label)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return head, loss.item()


if __name__ == "__main__":
    torch.manual_seed(0)
    encoder, context, objective = Encoder(), Context(), InfoNCE()
    print("pretrain", *pretrain(encoder, context, objective))
    print("probe", probe(encoder, context)[1])
