from __future__ import annotations

import libcst as cst

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report

_KINDS = frozenset({"rewrap", "parameter"})


class RewrappedTensor(EventRule[LostLeaf]):
    """A tensor with a graph is copied into a new tensor, which has none.

    What torch does
        `torch.tensor(data)`, `torch.Tensor([...])`, `torch.FloatTensor([...])` and `Variable(t)` copy
        values; the result is a new leaf without a graph. `nn.Parameter(t)` creates a leaf too, which
        requires grad. If the loss depends on nothing else, its backward raises a RuntimeError: "element
        0 of tensors does not require grad and does not have a grad_fn"; if other parts of the loss have
        a graph, the parameters before the copy silently get no gradient.

    Why it matters
        This often happens to a list of losses, to a rotation matrix built from a sine and a cosine, or
        to weights that another network has computed.

    When it may be wrong
        If the copy is intentional: to create a new leaf from computed values, or to weight a loss by constants. Neither
        is reported as long as something else trains the parameters before the copy.

    Instead
        Use `torch.stack` for a list of scalars or tensors of one shape, `torch.cat` to concatenate
        tensors, and the tensor itself instead of a copy. Pass computed weights to
        `torch.func.functional_call`, or to the functions of `torch.nn.functional`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
        https://docs.pytorch.org/docs/stable/generated/torch.stack.html
        https://docs.pytorch.org/docs/stable/generated/torch.func.functional_call.html
    """

    code = "GRD303"
    name = "rewrapped-tensor"
    effect = "silent"
    raises = "element 0 of tensors does not require grad"
    fix = "safe"
    torch_says = ("does not require grad", raises)
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
losses = [model(torch.randn(8, 4)).pow(2).mean() for _ in range(3)]
loss = torch.tensor(losses).mean()  # GRD303
loss.backward()  # raises
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
losses = [model(torch.randn(8, 4)).pow(2).mean() for _ in range(3)]
loss = torch.stack(losses).mean()
loss.backward()
history = torch.tensor([one.item() for one in losses])
"""
    good_shows = "model.weight.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        if event.kind not in _KINDS:
            return None
        if event.kind == "parameter":
            hint = "use the computed weights themselves, as `torch.func.functional_call` does"
            return report(event, "`nn.Parameter` makes a leaf of a computed tensor and drops its graph", hint)
        hint = "use `torch.stack` for a list of tensors, and the tensor itself instead of a copy"
        return report(event, f"`{event.op}` copies the values without their graph", hint, _repair(event))


def _repair(event: LostLeaf) -> Repair | None:
    call = event.node
    if not isinstance(call, cst.Call) or len(call.args) != 1 or call.args[0].keyword is not None:
        return None
    if event.given == "tensor":
        return Repair("use the tensor itself", (Change(call, source(call.args[0].value)),), safe=False)
    if event.given == "scalars":
        return Repair("use `torch.stack`", (Change(call.func, "torch.stack"),), imports=("torch",))
    return None
