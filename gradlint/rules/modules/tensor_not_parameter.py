from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import modules as fault
from gradlint.rules.authoring.arguments import keyword_of, without
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class TensorNotParameter(EventRule[fault.TensorNotParameter]):
    """A module has a trainable tensor that is not an `nn.Parameter`.

    What torch does
        Only an `nn.Parameter` is registered when it is assigned to a module. A tensor with `requires_grad=True` gets a
        gradient but is not in `parameters()` or `state_dict()`, and `to()` does not move it.

    Why it matters
        An optimizer over `model.parameters()` does not train it: it silently keeps its initial value.

    When it may be wrong
        If code that gradlint does not see trains it. A tensor that is passed to an optimizer, whose
        gradient the program reads, or that contains data is not reported.

    Instead
        Write `self.w = nn.Parameter(torch.randn(3))`, or `register_buffer` for a tensor that should
        not be trained. The fix makes it a parameter.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.parameter.Parameter.html
    """

    code = "GRD606"
    name = "tensor-not-parameter"
    effect = "silent"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size)
        self.gain = torch.ones(size, requires_grad=True)  # GRD606

    def forward(self, x):
        return self.gain * self.fc(x)


model = Scale(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
model(torch.ones(2, 3)).sum().backward()
optimizer.step()
"""
    bad_shows = "model.gain.grad is not None and torch.equal(model.gain, torch.ones(3))"
    good = """\
import torch
from torch import nn


class Scale(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(size))
        self.register_buffer("offset", torch.zeros(size))

    def forward(self, x):
        return self.gain * x + self.offset


model = Scale(3)
model(torch.ones(2, 3)).sum().backward()
"""
    good_shows = "model.gain.grad is not None"

    def check(self, event: fault.TensorNotParameter) -> Report | None:
        return Report(
            event.node,
            f"`{event.name}` requires grad but is not an `nn.Parameter`: an optimizer over `parameters()` "
            "does not train it",
            hint="assign `nn.Parameter(...)` instead",
            severity="warning",  # Who makes the network may give its optimizer the tensor itself.
            related=((event.made, "the tensor is created here"),),
            repair=_wrapped(event.node),
        )


def _wrapped(node: cst.CSTNode) -> Repair | None:
    """Wrap the tensor, without its flag, in a parameter."""
    if not isinstance(node, cst.Assign) or not isinstance(node.value, cst.Call):
        return None
    flag = keyword_of(node.value, "requires_grad")
    if flag is None:
        return None
    text = f"torch.nn.Parameter({source(without(node.value, flag))})"
    return Repair("make it a parameter", (Change(node.value, text),), safe=False, imports=("torch.nn",))
