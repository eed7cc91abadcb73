from __future__ import annotations

from gradlint.domain.fault import modules as fault
from gradlint.rules.base import EventRule, Report


class ModuleBuiltInForward(EventRule[fault.ModuleBuiltInForward | fault.WeightMadeInForward]):
    """`forward` creates a layer or a weight, which is new at every call.

    What torch does
        The layer gets new random weights at every call, and is discarded when `forward` returns.
        Its parameters are not registered in the module. So it is with a tensor that requires grad, which `forward`
        creates and passes to a function such as `F.conv2d` as weight.

    Why it matters
        These weights are never trained or saved: the network computes with random weights, in evaluation too.

    When it may be wrong
        If random weights are intentional. The weights of a normalization begin with ones and zeros, and a class of
        the program may compute them from what it is given: the severity is info there. Layers without parameters
        (`nn.ReLU()`, losses), layers whose weights the program sets, and layers created once and stored in an
        attribute are not reported.

    Instead
        Create the layer in `__init__`, as an attribute. If a size is not known there, use a lazy
        layer such as `nn.LazyLinear`. A layer without weights may be created in `forward`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.LazyLinear.html
    """

    code = "GRD607"
    name = "module-built-in-forward"
    effect = "silent"
    bad = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)

    def forward(self, x):
        x = self.body(x).relu()
        return nn.Linear(x.size(1), 2)(x)  # GRD607


model = Net().eval()
x = torch.ones(1, 4)
one, other = model(x), model(x)
"""
    bad_shows = "not torch.equal(one, other) and len(list(model.parameters())) == 2"
    good = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.head = None

    def forward(self, x):
        x = nn.ReLU()(self.body(x))
        if self.head is None:
            self.head = nn.Linear(x.size(1), 2)
        return nn.Softmax(dim=-1)(self.head(x))


model = Net()
model(torch.ones(1, 4))[0, 0].backward()
"""
    good_shows = "len(list(model.parameters())) == 4"

    def check(self, event: fault.ModuleBuiltInForward | fault.WeightMadeInForward) -> Report | None:
        if isinstance(event, fault.WeightMadeInForward):
            return Report(
                event.node,
                "this weight is created at every call of `forward`: it is never trained",
                hint="create it once in `__init__`, as an `nn.Parameter`",
                related=((event.used, "the weight is used here"),),
            )
        return Report(
            event.node,
            "this layer is created at every call of `forward`: its weights are "
            + ("random and never trained" if event.random else "never trained"),
            severity=None if event.random else "info",
            hint="create it once in `__init__`, as an attribute",
            related=((event.called, "the layer is called here"),),
        )
