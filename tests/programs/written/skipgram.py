"""Word vectors by skip-gram with negative sampling and sparse gradients."""
import random
from collections import Counter

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.nn import init
from torch.utils.data import DataLoader, Dataset

TEXT = ("the quick brown fox jumps over the lazy dog while the small cat sleeps near the warm fire and "
        "the old man reads the long book by the quiet river under the tall green tree ") * 4


class DataReader:
    NEGATIVE_TABLE_SIZE = 1000

    def __init__(self, text):
        words = text.split()
        self.frequency = Counter(words)
        self.id2word = sorted(self.frequency)
        self.word2id = {w: i for i, w in enumerate(self.id2word)}
        self.ids = [self.word2id[w] for w in words]
        pow_frequency = np.array([self.frequency[w] for w in self.id2word]) ** 0.5
        ratio = pow_frequency / pow_frequency.sum()
        count = np.round(ratio * DataReader.NEGATIVE_TABLE_SIZE)
        self.negatives = [wid for wid, c in enumerate(count) for _ in range(int(c))]
        random.shuffle(self.negatives)


class SkipGramDataset(Dataset):
    def __init__(self, data, window):
        self.data = data
        self.pairs = [(u, data.ids[j]) for i, u in enumerate(data.ids)
                      for j in range(max(0, i - window), min(len(data.ids), i + window + 1)) if j != i]

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, idx):
        return (*self.pairs[idx], random.sample(self.data.negatives, 4))

    @staticmethod
    def collate(batches):
        u, v, neg = zip(*batches)
        return torch.LongTensor(u), torch.LongTensor(v), torch.LongTensor(neg)


class SkipGramModel(nn.Module):
    def __init__(self, emb_size, emb_dimension):
        super(SkipGramModel, self).__init__()
        self.u_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=True)
        self.v_embeddings = nn.Embedding(emb_size, emb_dimension, sparse=True)
        initrange = 1.0 / emb_dimension
        init.uniform_(self.u_embeddings.weight.data, -initrange, initrange)
        init.constant_(self.v_embeddings.weight.data, 0)

    def forward(self, pos_u, pos_v, neg_v):
        emb_u = self.u_embeddings(pos_u)
        emb_v = self.v_embeddings(pos_v)
        emb_neg_v = self.v_embeddings(neg_v)
        score = torch.sum(torch.mul(emb_u, emb_v), dim=1)
        score = torch.clamp(score, max=10, min=-10)
        score = -F.logsigmoid(score)
        neg_score = torch.bmm(emb_neg_v, emb_u.unsqueeze(2)).squeeze(2)
        neg_score = torch.clamp(neg_score, max=10, min=-10)
        neg_score = -torch.sum(F.logsigmoid(-neg_score), dim=1)
        return torch.mean(score + neg_score)

    def nearest(self, word_id, k=3):
        vectors = F.normalize(self.u_embeddings.weight.data, dim=1)
        return vectors.mv(vectors[word_id]).topk(k + 1).indices[1:].tolist()

    def save_embedding(self, id2word, file_name):
        embedding = self.u_embeddings.weight.cpu().data.numpy()
        with open(file_name, 'w') as f:
            for wid, w in enumerate(id2word):
                f.write('%s %s\n' % (w, ' '.join(map(lambda x: str(x), embedding[wid]))))


class Word2VecTrainer:
    def __init__(self, text, output_file, dim=8, batch_size=64, window_size=2, iterations=2, initial_lr=0.02):
        self.data = DataReader(text)
        dataset = SkipGramDataset(self.data, window_size)
        self.dataloader = DataLoader(dataset, batch_size=batch_size, shuffle=True, collate_fn=dataset.collate)
        self.output_file_name = output_file
        self.iterations = iterations
        self.initial_lr = initial_lr
        self.skip_gram_model = SkipGramModel(len(self.data.id2word), dim)

    def train(self):
        for iteration in range(self.iterations):
            optimizer = torch.optim.SparseAdam(list(self.skip_gram_model.parameters()), lr=self.initial_lr)
            running_loss = 0.0
            for i, (pos_u, pos_v, neg_v) in enumerate(self.dataloader):
                optimizer.zero_grad()
                loss = self.skip_gram_model.forward(pos_u, pos_v, neg_v)
                loss.backward()
                optimizer.step()
                running_loss = running_loss * 0.9 + loss.item() * 0.1
            print(" Loss: " + str(running_loss))
        self.skip_gram_model.save_embedding(self.data.id2word, self.output_file_name)
        return running_loss


if __name__ == '__main__':
    random.seed(0)
    torch.manual_seed(0)
    w2v = Word2VecTrainer(TEXT, "out.vec")
    w2v.train()
    print([w2v.data.id2word[i] for i in w2v.skip_gram_model.nearest(w2v.data.word2id['fox'])])
