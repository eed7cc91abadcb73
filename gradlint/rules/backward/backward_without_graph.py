"""GRD205: `backward` or `autograd.grad` starts at a tensor without a graph."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.backward import RootWithoutGraph
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "element 0 of tensors does not require grad and does not have a grad_fn"


class BackwardWithoutGraph(Rule):
    """`backward` or `autograd.grad` starts at a tensor without a graph.

    What torch does
        It raises a RuntimeError: "element 0 of tensors does not require grad and does not have a
        grad_fn".

    Why it matters
        Nothing that the loss was computed from requires grad: everything is frozen, plain tensors stand
        in place of parameters, or grad mode was switched off and never on again. A graph that is cut on
        the way (by `detach()`, `.item()`, numpy, `torch.tensor(loss)`, a `no_grad` block) is reported
        at the cut, by a rule of its own. Setting `loss.requires_grad = True` silences the error and
        trains nothing.

    When it may be wrong
        Where the line is never reached, or the parameters are made to require grad by something that
        gradlint does not see.

    Instead
        Let the way from the parameters to the loss consist of torch operations with grad mode on. Use
        `torch.stack` in place of `torch.tensor` for a list of losses, and `loss.item()` for printing
        only.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    code = "GRD205"
    name = "backward-without-graph"
    effect = "raises"
    events = (RootWithoutGraph,)
    bad = (
        Bad(
            """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3)
loss = ((x @ w - y) ** 2).mean()
loss.backward()  # GRD205
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
for parameter in model.parameters():
    parameter.requires_grad_(False)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()  # GRD205
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
loss = model(torch.randn(8, 4)).pow(2).mean()
loss.backward()
with torch.no_grad():
    validation = model(torch.randn(8, 4)).pow(2).mean()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
loss = ((x @ w - y) ** 2).mean()
loss.backward()
""",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
x = torch.randn(8, 4)
target = model(x).detach() + 1
(model(x) - target).pow(2).mean().backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report a root without a graph, unless another rule reports the cut that is to blame."""
        assert isinstance(event, RootWithoutGraph)
        if event.cuts and event.cuts[0][0] in _TOLD_AT_THE_CUT:
            return
        call = "`backward`" if event.call == "backward" else "`autograd.grad`"
        why = "whose graph is cut" if event.cuts else "behind which nothing requires grad"
        related = [(place, _CUTS.get(kind, "the graph ends here")) for kind, place in event.cuts]
        yield Report(
            event.node,
            f"{call} starts at a tensor {why}: torch raises here",
            hint=_RESTORE if event.cuts else _REQUIRE,
            related=tuple(related),
        )


_RESTORE = "keep the way from the parameters to the loss in torch operations, with grad mode on"
_REQUIRE = "make what should be trained with `requires_grad=True`, or as an `nn.Parameter`"
_TOLD_AT_THE_CUT = frozenset(
    ("nondiff", "integer", "item", "numpy", "rewrap", "parameter", "sample", "no_grad", "checkpoint", "data", "detach")
)
_CUTS = {
    "data": "`.data` leaves the graph here",
    "detach": "`detach` leaves the graph here",
    "item": "the tensor becomes a Python number here",
    "no_grad": "this runs with grad mode off",
    "numpy": "the tensor becomes a numpy array here",
    "rewrap": "this copies the numbers and not the graph",
    "sample": "`sample` has no gradient; `rsample` has",
}
