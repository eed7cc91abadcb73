"""What Python or torch refuses, or what takes more memory than there is, never stops the interpreter."""

from __future__ import annotations

import pytest

from gradlint.check import check_source

SENSELESS = """
nn.Conv2d(4, 4, 3, groups=0).weight
nn.ConvTranspose2d(4, 4, 3, groups=0).weight
nn.Conv2d(4, 4, 3, stride=0)(torch.ones(1, 4, 8, 8))
nn.MaxPool2d(2, stride=0)(torch.ones(1, 4, 8, 8))
nn.MaxPool2d(0)(torch.ones(1, 4, 8, 8))
nn.AvgPool2d(2, 0)(torch.ones(1, 4, 8, 8))
F.unfold(torch.ones(1, 4, 8, 8), 2, stride=0)
torch.ones(4).chunk(0)
torch.ones(4).split(0)
torch.ones(0).chunk(2)
torch.tensor_split(torch.ones(4), 0)
torch.ones(8).unfold(0, 2, 0)
torch.stft(torch.ones(100), 2)
torch.stft(torch.ones(100), 16, hop_length=0)
torch.vmap(lambda x: x, in_dims=0)(torch.tensor(1.0))
torch.vmap(lambda x: x, in_dims=0, out_dims=0)(torch.ones(0))
torch.func.grad(lambda: 1.0)()
torch.func.grad(lambda x: x, argnums=0)()
nn.PixelShuffle(0)(torch.ones(1, 4, 8, 8))
nn.PixelUnshuffle(0)(torch.ones(1, 4, 8, 8))
torch.arange(0, 10, 0)
torch.linspace(0, 1, 0)
torch.ones(4).view(0, -1)
torch.ones(0, 3).reshape(0, -1)
nn.GroupNorm(0, 4)(torch.ones(1, 4, 8))
torch.ones(3, 4).flatten(5)
torch.ones(4).repeat(0)
torch.ones(4).roll(1, 5)
F.interpolate(torch.ones(1, 4, 8, 8), scale_factor=0)
F.interpolate(torch.ones(1, 4, 8, 8), size=0)
F.adaptive_avg_pool2d(torch.ones(1, 4, 8, 8), 0)
F.glu(torch.ones(3))
torch.ones(()).unsqueeze(3)
torch.fft.rfft(torch.ones(0))
torch.fft.irfft(torch.ones(0))
nn.Fold((4, 4), 0)(torch.ones(1, 4, 4))
nn.MultiheadAttention(8, 0)(torch.ones(1, 2, 8), torch.ones(1, 2, 8), torch.ones(1, 2, 8))
torch.ones(4)[::0]
torch.diag_embed(torch.ones(3), 0, 0, 0)
torch.rot90(torch.ones(3, 3), 5, [0, 0])
torch.ones(3, 3).std(dim=5)
F.channel_shuffle(torch.ones(1, 4, 8, 8), 0)
nn.LSTM(3, 4, num_layers=0)(torch.ones(1, 2, 3))
nn.Unflatten(1, (0, 2))(torch.ones(1, 4))
torch.ones(4).unflatten(0, (-1, 0))
1 % 0
[1, 2, 3][::0]
range(1, 2, 0)
"%d" % (1, 2, 3)
"{}".format()
10 ** 400.0
1 << -1
2 ** 10 ** 10
"a" * 10 ** 12
[0] * 10 ** 12
(1).__floordiv__(0)
divmod(1, 0)
round(1, None)
int("x")
float("nan") // 0
math.sqrt(-1)
math.log(0)
math.comb(10 ** 9, 10 ** 8)
math.factorial(10 ** 7)
chr(-1)
max([])
min(())
sum([1], "a")
"x".join([1])
bytes(10 ** 12)
list(range(10 ** 12))
dict([1])
zip()
next(iter([]))
sorted([1, "a"])
divmod(1.0, 0.0)
pow(2, -1, 4)
pow(0, -1)
abs("x")
(1, 2)[5]
{}["x"]
slice(0)[1]
len(5)
hash([])
complex("x")
1e308 * 10
1 // 0.0
int(float("inf"))
round(float("inf"))
"""


@pytest.mark.parametrize("expression", SENSELESS.strip().splitlines())
def test_what_cannot_be_run_hides_no_fault_elsewhere(expression: str) -> None:
    """The fault on the other path is found."""
    program = f"""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F

def f(flag):
    if flag:
        return {expression}
    w = torch.ones(3, requires_grad=True)
    w += 1
"""
    assert "GRD101" in {finding.code for finding in check_source(program)}
