from __future__ import annotations

from gradlint.domain.fault.backward import RootWithoutGraph
from gradlint.rules.base import EventRule, Report


class BackwardWithoutGraph(EventRule[RootWithoutGraph]):
    """`backward` or `autograd.grad` starts at a tensor without a graph.

    What torch does
        It raises a RuntimeError: "element 0 of tensors does not require grad and does not have a grad_fn".

    Why it matters
        The loss is computed from nothing that requires grad: everything is frozen, plain tensors are used instead of
        parameters, or grad mode was disabled and never enabled again. A graph that is cut (by `detach()`, `.item()`,
        numpy, `torch.tensor(loss)` or a `no_grad` block) is reported at the cut, by another rule. Setting
        `loss.requires_grad = True` hides the error, and nothing is trained.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see makes the parameters require grad.

    Instead
        Compute the loss from the parameters with torch operations only, with grad mode on. Use `torch.stack` instead of
        `torch.tensor` for a list of losses, and `loss.item()` only for logging.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#setting-requires-grad
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    code = "GRD205"
    name = "backward-without-graph"
    effect = "raises"
    raises = "element 0 of tensors does not require grad and does not have a grad_fn"
    bad = """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3)
loss = ((x @ w - y) ** 2).mean()
loss.backward()  # GRD205
"""
    good = """\
import torch

x, y = torch.randn(8, 3), torch.randn(8)
w = torch.zeros(3, requires_grad=True)
loss = ((x @ w - y) ** 2).mean()
loss.backward()
"""

    def check(self, event: RootWithoutGraph) -> Report | None:
        """Report a root without a graph, unless another rule reports the cut."""
        if event.cuts and event.cuts[0][0] in _TOLD_AT_THE_CUT:
            return None
        call = "`backward`" if event.call == "backward" else "`autograd.grad`"
        why = "whose graph is cut" if event.cuts else "that is computed from nothing that requires grad"
        return Report(
            event.node,
            f"{call} starts at a tensor {why}: torch raises here",
            hint=_RESTORE if event.cuts else _REQUIRE,
            related=tuple((place, _CUTS.get(kind, "the graph ends here")) for kind, place in event.cuts),
        )


_RESTORE = "compute the loss from the parameters with torch operations only, with grad mode on"
_REQUIRE = "create the trained tensors with `requires_grad=True`, or as `nn.Parameter`"
_TOLD_AT_THE_CUT = frozenset(
    ("nondiff", "integer", "item", "numpy", "rewrap", "parameter", "sample", "no_grad", "checkpoint", "data", "detach")
)
_CUTS = {
    "data": "`.data` leaves the graph here",
    "detach": "`detach` leaves the graph here",
    "item": "the tensor becomes a Python number here",
    "no_grad": "this runs with grad mode disabled",
    "numpy": "the tensor becomes a numpy array here",
    "rewrap": "this copies the values without their graph",
    "sample": "`sample` has no gradient; `rsample` has",
}
