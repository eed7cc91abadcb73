# %% [markdown]
# # Fitting curves with PyTorch: from polynomials to splines

# %%
import matplotlib.pyplot as plt
import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
x = torch.linspace(-1, 1, 80).unsqueeze(1)
y = torch.sin(4 * x) * torch.exp(-x) + 0.05 * torch.randn_like(x)

# %% a polynomial with coefficients found by gradient descent
degree = 4
coefficients = torch.zeros(degree + 1, 1, requires_grad=True)
powers = torch.cat([x ** k for k in range(degree + 1)], dim=1)
learning_rate = 0.3
losses = []
for t in range(50):
    y_pred = powers @ coefficients
    loss = ((y_pred - y) ** 2).mean()
    loss.backward()
    with torch.no_grad():
        coefficients -= learning_rate * coefficients.grad
        coefficients.grad = None
    losses.append(loss.item())

# %%
fig, ax = plt.subplots(1, 2)
ax[0].plot(losses)
ax[1].scatter(x.numpy(), y.numpy(), s=4)
ax[1].plot(x.numpy(), (powers @ coefficients).detach().numpy())

# %% linear splines with trainable knots
class Spline(nn.Module):
    def __init__(self, n_knots):
        super().__init__()
        self.spacing = nn.Parameter(torch.zeros(n_knots))
        self.heights = nn.Parameter(torch.randn(n_knots) * 0.1)

    def knots(self):
        # cumulative softmax keeps the knots sorted within [-1, 1]
        return 2 * torch.cumsum(torch.softmax(self.spacing, 0), 0) - 1

    def forward(self, x):
        knots = self.knots()
        right = torch.searchsorted(knots.detach(), x.squeeze(1).contiguous()).clamp(1, len(knots) - 1)
        left = right - 1
        width = (knots[right] - knots[left]).clamp(min=1e-4)
        weight = (x.squeeze(1) - knots[left]) / width
        return torch.lerp(self.heights[left], self.heights[right], weight).unsqueeze(1)


spline = Spline(8)
opt = torch.optim.Adam(spline.parameters(), lr=0.05)
history = np.zeros(40)
for t in range(40):
    opt.zero_grad()
    loss = nn.functional.huber_loss(spline(x), y)
    loss.backward()
    opt.step()
    history[t] = loss

# %%
plt.figure()
plt.plot(history)
plt.plot(spline.knots().data, spline.heights.data, 'o-')
plt.title('final %.4f' % history[-1])
plt.savefig('spline.png')

# %% jackknife: refit leaving out one fold at a time, starting from the same weights
start = {k: v.clone() for k, v in spline.state_dict().items()}
folds = torch.arange(len(x)) % 4
scores = []
for f in range(4):
    spline.load_state_dict(start)
    opt = torch.optim.SGD(spline.parameters(), lr=0.05)
    for t in range(5):
        opt.zero_grad()
        nn.functional.mse_loss(spline(x[folds != f]), y[folds != f]).backward()
        opt.step()
    with torch.no_grad():
        scores.append(nn.functional.mse_loss(spline(x[folds == f]), y[folds == f]))
print('polynomial', losses[-1], 'spline', history[-1], 'jackknife', np.mean(scores))
