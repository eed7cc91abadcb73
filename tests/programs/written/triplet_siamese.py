import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import Dataset, DataLoader


class TripletDataset(Dataset):
    def __init__(self, per_class=6, classes=4, dim=8):
        g = torch.Generator().manual_seed(1)
        self.centers = torch.randn(classes, dim, generator=g)
        self.data = {c: self.centers[c] + 0.3 * torch.randn(per_class, dim, generator=g) for c in range(classes)}
        self.index = [(c, k) for c in range(classes) for k in range(per_class)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        c, k = self.index[i]
        other = random.choice([x for x in self.data if x != c])
        return (self.data[c][k], random.choice(list(self.data[c])), random.choice(list(self.data[other])))


class EmbeddingNet(nn.Module):
    def __init__(self, dim=8, out=4):
        super(EmbeddingNet, self).__init__()
        self.fc = nn.Sequential(nn.Linear(dim, 16), nn.PReLU(), nn.Linear(16, out))

    def forward(self, x):
        x = self.fc(x)
        norm = x.pow(2).sum(dim=1, keepdim=True).add(1e-10).sqrt()
        return x / norm

    def get_embedding(self, x):
        return self.forward(x)


class TripletNet(nn.Module):
    def __init__(self, embedding_net):
        super(TripletNet, self).__init__()
        self.embedding_net = embedding_net

    def forward(self, x1, x2, x3):
        return self.embedding_net(x1), self.embedding_net(x2), self.embedding_net(x3)


class TripletLoss(nn.Module):
    def __init__(self, margin):
        super(TripletLoss, self).__init__()
        self.margin = margin

    def forward(self, anchor, positive, negative, size_average=True):
        distance_positive = (anchor - positive).pow(2).sum(1)
        distance_negative = (anchor - negative).pow(2).sum(1)
        losses = F.relu(distance_positive - distance_negative + self.margin)
        return losses.mean() if size_average else losses.sum()


def fit(train_loader, model, loss_fn, optimizer, n_epochs):
    for epoch in range(n_epochs):
        model.train()
        losses = []
        total_loss = 0
        active = 0
        for batch_idx, data in enumerate(train_loader):
            optimizer.zero_grad()
            outputs = model(*data)
            loss = loss_fn(*outputs)
            losses.append(loss.item())
            total_loss += loss.item()
            active += int((outputs[0].data - outputs[2].data).pow(2).sum(1).lt(1.0).sum())
            loss.backward()
            optimizer.step()
        print('Epoch: {}/{} Average loss: {:.4f}, close negatives {}'.format(
            epoch + 1, n_epochs, total_loss / (batch_idx + 1), active))
    return losses


def extract_embeddings(dataset, model):
    with torch.no_grad():
        model.eval()
        embeddings = {c: model.get_embedding(x).numpy() for c, x in dataset.data.items()}
    return embeddings


random.seed(0)
torch.manual_seed(0)
dataset = TripletDataset()
model = TripletNet(EmbeddingNet())
optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
losses = fit(DataLoader(dataset, batch_size=8, shuffle=True), model, TripletLoss(1.), optimizer, 2)
print(extract_embeddings(dataset, model.embedding_net)[0].shape)
