"""TransE on a toy knowledge graph, with corrupted triples and filtered ranks."""
import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


def toy_graph(n_entities, n_relations, n_triples, seed=0):
    rng = random.Random(seed)
    triples = set()
    while len(triples) < n_triples:
        h, r = rng.randrange(n_entities), rng.randrange(n_relations)
        triples.add((h, r, (h + r + 1) % n_entities))
    return torch.tensor(sorted(triples))


class TransE(nn.Module):
    def __init__(self, n_entities, n_relations, dim, p=1):
        super().__init__()
        self.p = p
        self.entities = nn.Embedding(n_entities, dim)
        self.relations = nn.Embedding(n_relations, dim)
        bound = 6 / dim ** 0.5
        nn.init.uniform_(self.entities.weight, -bound, bound)
        nn.init.uniform_(self.relations.weight, -bound, bound)
        with torch.no_grad():
            self.relations.weight /= self.relations.weight.norm(dim=1, keepdim=True)

    def normalise(self):
        with torch.no_grad():
            self.entities.weight.div_(self.entities.weight.norm(dim=1, keepdim=True))

    def forward(self, triples):
        h, r, t = triples.unbind(1)
        return (self.entities(h) + self.relations(r) - self.entities(t)).norm(p=self.p, dim=1)


def corrupt(triples, n_entities):
    fake = triples.clone()
    column = torch.where(torch.rand(len(triples)) < 0.5, 0, 2)
    fake[torch.arange(len(triples)), column] = torch.randint(n_entities, (len(triples),))
    return fake


def epoch(model, triples, optimizer, margin, batch_size):
    total = 0.0
    for batch in triples[torch.randperm(len(triples))].split(batch_size):
        model.normalise()
        optimizer.zero_grad()
        good, bad = model(batch), model(corrupt(batch, model.entities.num_embeddings))
        loss = F.relu(margin + good - bad).mean()
        loss.backward()
        optimizer.step()
        total += loss.item() * len(batch)
    return total / len(triples)


@torch.no_grad()
def mean_rank(model, triples):
    ranks = []
    for h, r, t in triples.tolist():
        every = torch.tensor([(h, r, e) for e in range(model.entities.num_embeddings)])
        scores = model(every)
        ranks.append((scores < scores[t]).sum().item() + 1)
    return sum(ranks) / len(ranks)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument('--dim', type=int, default=16)
    parser.add_argument('--margin', type=float, default=1.0)
    parser.add_argument('--epochs', type=int, default=4)
    args = parser.parse_args()
    torch.manual_seed(0)
    triples = toy_graph(20, 3, 40)
    model = TransE(20, 3, args.dim)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for number in range(args.epochs):
        loss = epoch(model, triples, optimizer, args.margin, 16)
        print(f'epoch {number}: loss {loss:.3f}, mean rank {mean_rank(model, triples[:10]):.1f}')


if __name__ == '__main__':
    main()
