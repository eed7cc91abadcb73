"""GRD217: a plain tensor is assigned where a module has registered a parameter."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import modules as refusal
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "cannot assign 'torch.FloatTensor' as parameter"


class ParameterOverwritten(Rule):
    """A plain tensor is assigned where a module has registered a parameter.

    What torch does
        It raises a TypeError: "cannot assign 'torch.FloatTensor' as parameter 'weight'
        (torch.nn.Parameter or None expected)".

    Why it matters
        `layer.weight = layer.weight * mask` would take the parameter out of `parameters()`, and the
        optimizer would go on with the old one.

    When it may be wrong
        Where the line is never reached.

    Instead
        Change the values of the parameter (`with torch.no_grad(): layer.weight.mul_(mask)`), compute
        with a tensor of another name (`F.linear(x, layer.weight * mask)`), or use
        `torch.nn.utils.parametrize`. `nn.Parameter(...)` makes a new one, which the optimizer does not
        know.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.parametrize.register_parametrization.html
    """

    code = "GRD217"
    name = "parameter-overwritten"
    effect = "raises"
    events = (refusal.ParameterOverwritten, refusal.ChildOverwritten)
    torch_says = r"cannot assign '[\w.]+' as parameter"
    bad = (
        Bad(
            """\
import torch
from torch import nn

layer = nn.Linear(3, 2)
layer.weight = torch.zeros(2, 3)  # GRD217
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        self.scale = self.scale * 0.9  # GRD217
        return x * self.scale


Scaled()(torch.randn(3))
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

net = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1))
for module in net:
    if isinstance(module, nn.Linear):
        module.bias = torch.full_like(module.bias, 0.01)  # GRD217
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn


class Codebook(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("codes", nn.Parameter(torch.randn(4, 2)))

    def normalise(self):
        setattr(self, "codes", self.codes / self.codes.norm(dim=1, keepdim=True))  # GRD217


Codebook().normalise()
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

layer = nn.Linear(3, 2)
with torch.no_grad():
    layer.weight.zero_()
""",
        ),
        Good(
            """\
import torch
from torch import nn

layer = nn.Linear(3, 2)
layer.weight = nn.Parameter(torch.zeros(2, 3))
layer.bias = None
""",
        ),
        Good(
            """\
import torch
from torch import nn


class Scaled(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(1))

    def forward(self, x):
        scale = self.scale * 0.9
        return x * scale


Scaled()(torch.randn(3)).sum().backward()
""",
        ),
        Good(
            """\
import torch
from torch import nn


class Codebook(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_parameter("codes", nn.Parameter(torch.randn(4, 2)))

    def normalise(self):
        with torch.no_grad():
            self.codes.div_(self.codes.norm(dim=1, keepdim=True))


book = Codebook()
book.normalise()
""",
            shows="torch.allclose(book.codes.norm(dim=1), torch.ones(4))",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """An assignment that `nn.Module` refuses."""
        if isinstance(event, refusal.ChildOverwritten):
            yield Report(
                event.node,
                f"something that is no module is assigned to the child module `{event.name}`: torch raises here",
                hint="assign a module, or give the other thing another name",
            )
            return
        assert isinstance(event, refusal.ParameterOverwritten)
        yield Report(
            event.node,
            f"a plain tensor is assigned to the parameter `{event.name}`: torch raises here",
            hint="write its values under `torch.no_grad()`, or give the computed tensor another name",
            related=() if event.made is None else ((event.made, "the parameter is made here"),),
        )
