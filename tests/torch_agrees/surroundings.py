"""What stands around the point of a program: docstrings, seeds, constants, harmless statements, helpers."""

from __future__ import annotations

from .pieces import data, derive, leaf
from .program import Program

DOCSTRINGS = (
    '"""Toy example."""',
    '"""A small training script."""',
    "# Minimal reproduction.",
    "# Experiment with gradients",
    "#!/usr/bin/env python3",
)

HARMLESS = (
    "print('start')",
    "steps = 10\nlosses = []\nfor k in range(steps):\n    losses.append(k * 0.1)",
    "device = {t}.device('cpu')",
    "config = {{'epochs': 2, 'verbose': False}}",
    "n_batches = 3\ntotal_samples = n_batches * 8",
    "stats = {t}.randn(4, 4)\nstats -= stats.mean()\nstats /= stats.std()\nprint(stats.shape)",
    "vocab = {{word: index for index, word in enumerate('a b c'.split())}}",
    "table = {t}.zeros(3, 3)\ntable[0, 0] = 1.0\ntable[1] += 2",
    "with {t}.no_grad():\n    baseline = {t}.randn(3).mean().item()",
    "counts = [0] * 4\ncounts[1] += 1",
    "device = 'cuda' if {t}.cuda.is_available() else 'cpu'",
    "perm = {t}.randperm(6)\nfirst_half = perm[:3].tolist()",
    "arr0 = {np}.zeros(4)\narr0 += 1.5\narr0[0] = 2",
    "eye = {t}.eye(3)\neye[0] = 0\nprint(eye.sum().item())",
    "names = ['a', 'b']\nnames += ['c']",
    "onehot = {F}.one_hot({t}.tensor([0, 2]), 3).float()\nonehot.mul_(0.9).add_(0.1)",
    "start_step = 0\nif start_step > 0:\n    print('resuming')",
    "try:\n    value0 = float('1.5')\nexcept ValueError:\n    value0 = 0.0",
)

UNUSED_HELPERS = (
    "def count_parameters(model):\n    return sum(p.numel() for p in model.parameters() if p.requires_grad)",
    "def to_device(tensors, device='cpu'):\n    return [x.to(device) for x in tensors]",
    "def log(step, loss):\n    print(f'step {{step}}: {{loss:.4f}}')",
    "@{t}.no_grad()\ndef accuracy(model, x, y):\n    return (model(x).argmax(-1) == y).float().mean().item()",
    (
        "class AverageMeter:\n"
        "    def __init__(self):\n"
        "        self.total, self.count = 0.0, 0\n\n"
        "    def update(self, value, n=1):\n"
        "        self.total += value * n\n"
        "        self.count += n\n\n"
        "    @property\n"
        "    def avg(self):\n"
        "        return self.total / max(self.count, 1)"
    ),
    "def normalize(x, eps=1e-6):\n    return (x - x.mean()) / (x.std() + eps)",
    "def batches(x, size):\n    for start in range(0, len(x), size):\n        yield x[start:start + size]",
)


def before(p: Program) -> None:
    """Write nothing, or a few statements and definitions that do no harm."""
    if p.chance(0.25):
        p.define(p.pick(*UNUSED_HELPERS))
    for _ in range(p.pick(0, 0, 1, 1, 2)):
        p.line(p.pick(*HARMLESS))
    if p.chance(0.15):
        derive(p, data(p))
    if p.chance(0.1):
        derive(p, leaf(p))


def after(p: Program) -> None:
    """Write nothing, or a last word."""
    if p.chance(0.3):
        p.line(p.pick("print('done')", "done = True", "print('finished', flush=True)"))


def head(p: Program) -> list[str]:
    """Return what stands before the imports."""
    return [p.pick(*DOCSTRINGS)] if p.chance(0.25) else []


def seeding(p: Program) -> list[str]:
    """Return the statements that make the program repeatable."""
    if p.chance(0.2):
        return []
    return [p.text(p.pick("{t}.manual_seed({n})", "_ = {t}.manual_seed({n})"), n=p.rng.randrange(100))]
