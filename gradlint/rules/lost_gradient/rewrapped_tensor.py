"""GRD303: a tensor with a graph is copied into a new tensor, which has none."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule

_RAISES = "element 0 of tensors does not require grad"
_KINDS = frozenset({"rewrap", "parameter"})


class RewrappedTensor(Rule):
    """A tensor with a graph is copied into a new tensor, which has none.

    What torch does
        `torch.tensor(data)`, `torch.Tensor([...])`, `torch.FloatTensor([...])` and `Variable(t)` copy
        numbers; the result is a new leaf without a graph. `nn.Parameter(t)` makes a leaf too, one that
        requires grad. If the loss depends on nothing else, its backward raises a RuntimeError: "element
        0 of tensors does not require grad and does not have a grad_fn"; if it does, whatever was behind
        the copy gets no gradient, without a word.

    Why it matters
        It is the usual way to lose a list of losses, a rotation matrix built of a sine and a cosine, or
        the weights that another network has computed.

    When it may be wrong
        Where the copy is wanted: to start a new leaf from computed values, or to weigh a loss by
        numbers. Neither is reported as long as something else trains the parameters behind.

    Instead
        Use `torch.stack` for a list of scalars or tensors of one shape, `torch.cat` to put tensors one
        behind the other, and the tensor itself in place of a copy of it. Weights that are computed go
        into `torch.func.functional_call`, or into the functions of `torch.nn.functional`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.tensor.html
        https://docs.pytorch.org/docs/stable/generated/torch.stack.html
        https://docs.pytorch.org/docs/stable/generated/torch.func.functional_call.html
    """

    code = "GRD303"
    name = "rewrapped-tensor"
    effect = "silent"
    events = (LostLeaf,)
    fix = "safe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
losses = [model(torch.randn(8, 4)).pow(2).mean() for _ in range(3)]
loss = torch.tensor(losses).mean()  # GRD303
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

angle = torch.tensor(0.3, requires_grad=True)
scale = torch.tensor(1.0, requires_grad=True)
c, s = torch.cos(angle), torch.sin(angle)
rotation = torch.tensor([[c, -s], [s, c]])  # GRD303
loss = (scale * torch.randn(5, 2) @ rotation).pow(2).sum()
loss.backward()
""",
            shows="grad_is_none(angle) and scale.grad is not None",
        ),
        Bad(
            """\
import torch
from torch import nn
from torch.autograd import Variable

model = nn.Linear(4, 1)
loss = Variable(model(torch.randn(8, 4)).pow(2).mean().data)  # GRD303
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

w = torch.ones(3, requires_grad=True)
losses = [(w * k).sum() for k in range(3)]
torch.FloatTensor(losses).mean().backward()  # GRD303  # raises
""",
            error="does not require grad",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
losses = [model(torch.randn(8, 4)).pow(2).mean() for _ in range(3)]
loss = torch.stack(losses).mean()
loss.backward()
history = torch.tensor([one.item() for one in losses])
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
error = (model(torch.randn(8, 4)) - 1).squeeze(1)
weight = torch.tensor(error.abs().tolist())
(weight * error.pow(2)).mean().backward()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
losses = [(w * k).sum() for k in range(3)]
torch.stack(losses).mean().backward()
""",
            shows="w.grad is not None",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
target = torch.tensor([0.5, 1.0, 2.0])
((w - target) ** 2).sum().backward()
report = torch.tensor([w.sum().item(), 1.0])
""",
            shows="w.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A copy of numbers on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind not in _KINDS:
            return
        if event.kind == "parameter":
            hint = "use the computed weights themselves, as `torch.func.functional_call` does"
            yield report(event, "`nn.Parameter` makes a leaf of a computed tensor, cut off from what computed it", hint)
            return
        hint = "use `torch.stack` for a list of tensors, and the tensor itself in place of a copy"
        yield report(event, f"`{event.op}` copies the numbers and not the graph", hint, _repair(event))


def _repair(event: LostLeaf) -> Repair | None:
    call = event.node
    if not isinstance(call, cst.Call) or len(call.args) != 1 or call.args[0].keyword is not None:
        return None
    if event.given == "tensor":
        return Repair("use the tensor itself", (Change(call, source(call.args[0].value)),), safe=False)
    if event.given == "scalars":
        return Repair("use `torch.stack`", (Change(call.func, "torch.stack"),), imports=("torch",))
    return None
