# Linear regression and a two layer network without torch.nn, as in a lecture
import random

import torch


def synthetic_data(w, b, num_examples):
    """y = Xw + b + noise"""
    X = torch.normal(0, 1, (num_examples, len(w)))
    y = torch.matmul(X, w) + b
    y += torch.normal(0, 0.01, y.shape)
    return X, y.reshape((-1, 1))


def data_iter(batch_size, features, labels):
    num_examples = len(features)
    indices = list(range(num_examples))
    random.shuffle(indices)
    for i in range(0, num_examples, batch_size):
        batch_indices = torch.tensor(indices[i:min(i + batch_size, num_examples)])
        yield features[batch_indices], labels[batch_indices]


def linreg(X, w, b):
    return torch.matmul(X, w) + b


def squared_loss(y_hat, y):
    return (y_hat - y.reshape(y_hat.shape)) ** 2 / 2


def sgd(params, lr, batch_size):
    with torch.no_grad():
        for param in params:
            param -= lr * param.grad / batch_size
            param.grad.zero_()


true_w = torch.tensor([2, -3.4])
true_b = 4.2
features, labels = synthetic_data(true_w, true_b, 100)
w = torch.normal(0, 0.01, size=(2, 1), requires_grad=True)
b = torch.zeros(1, requires_grad=True)

lr = 0.03
batch_size = 10
for epoch in range(3):
    for X, y in data_iter(batch_size, features, labels):
        l = squared_loss(linreg(X, w, b), y)
        l.sum().backward()
        sgd([w, b], lr, batch_size)
    with torch.no_grad():
        train_l = squared_loss(linreg(features, w, b), labels)
        print(f'epoch {epoch + 1}, loss {float(train_l.mean()):f}')

# now with a hidden layer
W1 = torch.randn(2, 8) * 0.5
W1.requires_grad = True
W2 = torch.randn(8, 1) * 0.5
W2.requires_grad = True
curve = []
for step in range(20):
    y_pred = features.mm(W1).clamp(min=0).mm(W2) + true_b
    loss = (y_pred - labels).pow(2).mean()
    curve.append(loss.item())
    loss.backward()
    with torch.no_grad():
        W1 -= 1e-2 * W1.grad
        W2 -= 1e-2 * W2.grad
    W1.grad = None
    W2.grad = None
print('error in w', (true_w - w.detach().reshape(true_w.shape)).tolist(), 'hidden', curve[0], curve[-1])
