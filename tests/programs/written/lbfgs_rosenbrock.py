# %% [markdown]
# Minimising test functions with everything torch.optim has to offer

# %%
import numpy as np
import torch


def rosenbrock(xy):
    x, y = xy
    return (1 - x) ** 2 + 100 * (y - x ** 2) ** 2


def rastrigin(xy, A=10):
    x, y = xy
    return A * 2 + (x ** 2 - A * torch.cos(2 * np.pi * x)) + (y ** 2 - A * torch.cos(2 * np.pi * y))


# %%
def execute_steps(func, start, optimizer_class, n_iter, **config):
    xy_t = torch.tensor(start, requires_grad=True)
    optimizer = optimizer_class([xy_t], **config)
    steps = np.zeros((2, n_iter + 1))
    steps[:, 0] = np.array(start)
    for i in range(1, n_iter + 1):
        optimizer.zero_grad()
        f = func(xy_t)
        f.backward(create_graph=False)
        torch.nn.utils.clip_grad_norm_([xy_t], 1.0)
        optimizer.step()
        steps[:, i] = xy_t.detach().numpy()
    return steps


# %%
paths = {}
for optimizer_class, config in [(torch.optim.SGD, {"lr": 0.01}), (torch.optim.Adam, {"lr": 0.1}),
                                (torch.optim.RMSprop, {"lr": 0.05})]:
    paths[optimizer_class.__name__] = execute_steps(rosenbrock, (-2.0, 2.0), optimizer_class, 30, **config)

# %% second order, with a closure
x = torch.tensor([-1.5, 1.5], requires_grad=True)
lbfgs = torch.optim.LBFGS([x], lr=1, max_iter=20, line_search_fn="strong_wolfe")
trajectory = []


def closure():
    lbfgs.zero_grad()
    objective = rosenbrock(x)
    objective.backward()
    trajectory.append(x.detach().clone())
    return objective


for _ in range(3):
    value = lbfgs.step(closure)
print("lbfgs", value.item(), x.data, len(trajectory))

# %% gradient descent by hand with a line search on rastrigin
z = torch.tensor([1.3, -0.7], requires_grad=True)
for it in range(20):
    value = rastrigin(z)
    (g,) = torch.autograd.grad(value, z)
    step = 1e-2
    with torch.no_grad():
        while rastrigin(z - step * g) > value and step > 1e-6:
            step *= 0.5
        z -= step * g

# %% Newton's method from the Hessian
w = torch.tensor([0.5, 0.5], requires_grad=True)
for it in range(5):
    grad = torch.autograd.grad(rosenbrock(w), w, create_graph=True)[0]
    hessian = torch.stack([torch.autograd.grad(g_i, w, retain_graph=True)[0] for g_i in grad])
    delta = torch.linalg.solve(hessian, grad.detach())
    w = (w - delta).detach().requires_grad_(True)
print("newton", w.tolist(), "rastrigin", rastrigin(z).item(), {k: v[:, -1].tolist() for k, v in paths.items()})
