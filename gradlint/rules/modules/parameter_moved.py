"""GRD605: a parameter goes through an operation before it is assigned, and is a parameter no longer."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import modules as fault
from gradlint.domain.refusal.modules import NoParameterRegistered
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule


class ParameterMoved(Rule):
    """A parameter goes through an operation before it is assigned, and is a parameter no longer.

    What torch does
        `nn.Parameter(t).to(device)`, `.cuda()`, `.double()` or `* 0.1` gives a plain tensor with a
        history. Assigned to a module it is no parameter: the module registers nothing, and the leaf
        behind it, which gets the gradient, is out of reach. `.to` gives the parameter itself only where
        it is on that device already.

    Why it matters
        The value is never trained nor saved. The graph from the leaf is built once: a second backward
        through it may raise. `register_parameter` refuses it: a TypeError.

    When it may be wrong
        `.to(device)` where the device is always the one that the parameter is on.

    Instead
        Move first, wrap last: `nn.Parameter(t.to(device))`. The fix does this. A module's `to()` moves
        its parameters anyway.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    code = "GRD605"
    name = "parameter-moved"
    effect = "silent"
    events = (fault.ParameterMoved, NoParameterRegistered)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3)).double()  # GRD605

    def forward(self, x):
        return self.gain * x


model = Scale()
model(torch.ones(3)).sum().backward()
""",
            shows="not list(model.parameters()) and not model.gain.is_leaf",
        ),
        Bad(
            """\
import torch
from torch import nn


class Queries(nn.Module):
    def __init__(self, count, size):
        super().__init__()
        self.queries = nn.Parameter(torch.randn(count, size)) / size**0.5  # GRD605

    def forward(self, x):
        return x @ self.queries.t()


model = Queries(2, 3)
model(torch.ones(4, 3)).sum().backward()
""",
            shows="not list(model.parameters())",
        ),
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2)).double()  # GRD605

    def forward(self, x):
        return x * self.w


net = Net()
net(torch.ones(1, 2))
""",
            shows="len(list(net.parameters())) == 0",
        ),
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.w = scale * nn.Parameter(torch.ones(2))  # GRD605

    def forward(self, x):
        return x * self.w


net = Net(0.1)
net(torch.ones(1, 2))
""",
            shows="len(list(net.parameters())) == 0",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3).double())

    def forward(self, x):
        return self.gain * x


model = Scale()
model(torch.ones(3)).sum().backward()
""",
            shows="model.gain.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(3))

    def forward(self, x):
        self.last = self.gain.double() * x
        return self.last


model = Tied()
model(torch.ones(3)).sum().backward()
""",
            shows="model.gain.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, scale):
        super().__init__()
        self.w = nn.Parameter(scale * torch.ones(2).double())

    def forward(self, x):
        return x * self.w.float()


net = Net(0.1)
net(torch.ones(1, 2))
""",
            shows="len(list(net.parameters())) == 1",
        ),
        Good(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2))

    def forward(self, x):
        return x * self.w


net = Net().double()
""",
            shows="len(list(net.parameters())) == 1",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """An attribute of a module that was computed from a parameter nobody holds."""
        if isinstance(event, NoParameterRegistered):
            yield Report(
                event.node,
                "this was computed from a parameter and is none itself: torch refuses to register it",
                hint="compute first and wrap last: `nn.Parameter(t.to(device))`",
                related=((event.made, "the parameter is made here, and lost"),),
                effect="raises",
            )
            return
        assert isinstance(event, fault.ParameterMoved)
        yield Report(
            event.node,
            f"`{event.name}` is computed from a parameter and is none itself: it is not registered, nor trained",
            hint="compute first and wrap last: `nn.Parameter(t.to(device))`",
            related=((event.made, "the parameter is made here, and lost"),),
            repair=_wrapped_last(event.node, event.made),
        )


def _wrapped_last(node: cst.CSTNode, made: cst.CSTNode) -> Repair | None:
    """The wrapping around all of the value instead of in it."""
    if not isinstance(node, cst.Assign) or not isinstance(made, cst.Call) or not made.args:
        return None
    data, rest = made.args[0], made.args[1:]
    if data.keyword is not None or data.star:
        return None
    value = node.value.deep_replace(made, _enclosed(data.value))
    flags = "".join(f", {source(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT))}" for arg in rest)
    text = f"{source(made.func)}({source(value)}{flags})"
    return Repair("Wrap the result", (Change(node.value, text),), safe=False)


def _enclosed(value: cst.BaseExpression) -> cst.BaseExpression:
    """An expression that an operator or an attribute may follow."""
    if isinstance(value, (cst.Name, cst.Attribute, cst.Call, cst.Subscript)) or value.lpar:
        return value
    return value.with_changes(lpar=[cst.LeftParen()], rpar=[cst.RightParen()])
