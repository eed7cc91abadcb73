"""Model agnostic meta-learning on sinusoids, with the inner loop written by hand."""
import numpy as np
import torch
import torch.nn.functional as F


def sample_task(rng):
    amplitude, phase = rng.uniform(0.1, 5.0), rng.uniform(0, np.pi)

    def draw(k):
        x = torch.from_numpy(rng.uniform(-5, 5, size=(k, 1))).float()
        return x, amplitude * torch.sin(x + phase)

    return draw


def init_params(hidden=20):
    shapes = [(hidden, 1), (hidden,), (hidden, hidden), (hidden,), (1, hidden), (1,)]
    params = []
    for shape in shapes:
        w = torch.empty(*shape)
        if len(shape) > 1:
            torch.nn.init.kaiming_normal_(w)
        else:
            w.zero_()
        params.append(w.requires_grad_(True))
    return params


def net(x, params):
    h = F.relu(F.linear(x, params[0], params[1]))
    h = F.relu(F.linear(h, params[2], params[3]))
    return F.linear(h, params[4], params[5])


def adapt(params, x, y, lr=0.01, steps=2, first_order=False):
    fast = params
    for _ in range(steps):
        loss = F.mse_loss(net(x, fast), y)
        grads = torch.autograd.grad(loss, fast, create_graph=not first_order)
        fast = [w - lr * g for w, g in zip(fast, grads)]
    return fast


def evaluate(params, rng, n_tasks=3):
    losses = []
    for _ in range(n_tasks):
        draw = sample_task(rng)
        # adaptation needs gradients, so no no_grad here
        fast = adapt(params, *draw(5), first_order=True)
        x, y = draw(20)
        losses.append(F.mse_loss(net(x, fast), y).item())
    return float(np.mean(losses))


rng = np.random.RandomState(0)
torch.manual_seed(0)
params = init_params()
initial = [p.detach().clone() for p in params]
meta_optimizer = torch.optim.Adam(params, lr=1e-3)
for iteration in range(5):
    meta_loss = 0
    for _ in range(4):
        draw = sample_task(rng)
        fast = adapt(params, *draw(5))
        x_q, y_q = draw(10)
        meta_loss = meta_loss + F.mse_loss(net(x_q, fast), y_q)
    meta_loss = meta_loss / 4
    meta_optimizer.zero_grad()
    meta_loss.backward()
    meta_optimizer.step()
    print("iteration %d meta loss %.3f" % (iteration, meta_loss.item()))
print("test loss after adaptation", evaluate(params, rng))
