from __future__ import annotations

import libcst as cst

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class DataInGraph(EventRule[LostLeaf]):
    """`.data` detaches a tensor from the graph of the loss.

    What torch does
        `t.data` shares the memory of `t` but has no graph. A loss that is computed only from it raises in backward:
        "element 0 of tensors does not require grad and does not have a grad_fn". If other parts of the loss have a
        graph, the parameters from which `t` was computed silently get no gradient.

    Why it matters
        In code from 2017, `.data` returned the tensor of a `Variable`. Today a tensor has its own
        graph, and `.data` drops it.

    When it may be wrong
        If the cut is intentional. Then write `detach()`, which also lets torch detect writes to the memory. gradlint
        reports only parameters of an optimizer that no backward of the program reaches, and losses without a graph.

    Instead
        Remove `.data`. If the cut is intentional, write `.detach()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html
    """

    code = "GRD302"
    name = "data-in-graph"
    effect = "silent"
    raises = "element 0 of tensors does not require grad"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
output = model(torch.randn(8, 4))
loss = nn.functional.mse_loss(output.data, torch.randn(8, 1))  # GRD302
loss.backward()  # raises
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
output = model(torch.randn(8, 4))
loss = nn.functional.mse_loss(output, torch.randn(8, 1))
loss.backward()
print(output.data.mean())
"""
    good_shows = "model.weight.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        if event.kind != "data":
            return None
        hint = "remove `.data`; if the cut is intentional, write `.detach()`"
        return report(event, "`.data` cuts the graph of the loss here", hint, _repair(event))


def _repair(event: LostLeaf) -> Repair | None:
    read = event.node
    if not isinstance(read, cst.Attribute):
        return None
    return Repair("remove `.data`", (Change(read, source(read.value)),), safe=False)
