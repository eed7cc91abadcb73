"""A scalar autograd engine of our own, checked against the real thing at the end.

Nothing in the first part is a torch tensor, although the names look alike.
"""
import math
import random

import torch


class Value:
    """Stores a number and its gradient."""

    def __init__(self, data, _children=(), _op=''):
        self.data = data
        self.grad = 0.0
        self._backward = lambda: None
        self._prev = set(_children)
        self._op = _op

    def __add__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data + other.data, (self, other), '+')

        def _backward():
            self.grad += out.grad
            other.grad += out.grad
        out._backward = _backward
        return out

    def __mul__(self, other):
        other = other if isinstance(other, Value) else Value(other)
        out = Value(self.data * other.data, (self, other), '*')

        def _backward():
            self.grad += other.data * out.grad
            other.grad += self.data * out.grad
        out._backward = _backward
        return out

    def tanh(self):
        t = math.tanh(self.data)
        out = Value(t, (self,), 'tanh')

        def _backward():
            self.grad += (1 - t ** 2) * out.grad
        out._backward = _backward
        return out

    def item(self):
        return self.data

    def detach(self):
        return Value(self.data)

    def backward(self):
        topo, visited = [], set()

        def build(v):
            if v not in visited:
                visited.add(v)
                for child in v._prev:
                    build(child)
                topo.append(v)
        build(self)
        self.grad = 1.0
        for v in reversed(topo):
            v._backward()

    __radd__ = __add__
    __rmul__ = __mul__


class Neuron:
    def __init__(self, nin):
        self.w = [Value(random.uniform(-1, 1)) for _ in range(nin)]
        self.b = Value(0.0)

    def __call__(self, x):
        return sum((wi * xi for wi, xi in zip(self.w, x)), self.b).tanh()

    def parameters(self):
        return self.w + [self.b]


random.seed(1337)
xs = [[2.0, 3.0, -1.0], [3.0, -1.0, 0.5], [0.5, 1.0, 1.0], [1.0, 1.0, -1.0]]
ys = [1.0, -1.0, -1.0, 1.0]
n = Neuron(3)
start = [p.data for p in n.parameters()]
history = []
for k in range(10):
    ypred = [n(x) for x in xs]
    loss = sum(((yout + -ygt) * (yout + -ygt) for ygt, yout in zip(ys, ypred)), Value(0.0))
    for p in n.parameters():
        p.grad = 0.0
    loss.backward()
    for p in n.parameters():
        p.data += -0.05 * p.grad
    history.append(loss.data)

# the same with torch
w = torch.tensor(start[:3], dtype=torch.double, requires_grad=True)
b = torch.tensor(start[3], dtype=torch.double, requires_grad=True)
X, Y = torch.tensor(xs).double(), torch.tensor(ys).double()
for k in range(10):
    w.grad = b.grad = None
    torch_loss = ((torch.tanh(X @ w + b) - Y) ** 2).sum()
    torch_loss.backward()
    with torch.no_grad():
        w -= 0.05 * w.grad
        b -= 0.05 * b.grad
assert abs(torch_loss.item() - history[-1]) < 1e-6, (torch_loss.item(), history[-1])
print('both engines agree:', history[-1])
