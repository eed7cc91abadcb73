import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
images, labels = torch.randn(48, 3, 12, 12), torch.randint(0, 4, (48,))
train = DataLoader(TensorDataset(images[:32], labels[:32]), batch_size=8, shuffle=True)
test = DataLoader(TensorDataset(images[32:], labels[32:]), batch_size=8)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(8)
        self.conv2 = nn.Conv2d(8, 16, 3, stride=2)
        self.drop = nn.Dropout(0.25)
        self.fc = nn.Linear(16 * 25, 4)

    def forward(self, x):
        x = torch.relu(self.bn1(self.conv1(x)))
        x = torch.relu(self.conv2(x))
        return self.fc(self.drop(x.flatten(1)))


def train_epoch(model, optimizer, scheduler):
    model.train()
    total = 0.0
    for x, y in train:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        total += loss.item()
    scheduler.step()
    return total / len(train)


def evaluate(model):
    model.eval()
    hits, total = 0, 0.0
    with torch.no_grad():
        for x, y in test:
            scores = model(x)
            total += nn.functional.cross_entropy(scores, y)
            hits += (scores.argmax(1) == y).sum().item()
    return hits / len(labels[32:]), float(total)


def main():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.9)
    best, state = 0.0, None
    for epoch in range(3):
        loss = train_epoch(model, optimizer, scheduler)
        accuracy, _ = evaluate(model)
        if accuracy >= best:
            best, state = accuracy, {name: one.clone() for name, one in model.state_dict().items()}
        print(epoch, loss, accuracy)
    model.load_state_dict(state)
    print(evaluate(model))


main()
