"""GRD211: `copy.deepcopy` meets a tensor that is no leaf."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.repairs import operand
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule

_RAISES = "Only Tensors created explicitly by the user"


class DeepcopyNonleaf(Rule):
    """`copy.deepcopy` meets a tensor that is no leaf.

    What torch does
        It raises a RuntimeError: "Only Tensors created explicitly by the user (graph leaves) support
        the deepcopy protocol at the moment." It does so for a tensor, for a list or dict that holds
        one, and for a module that keeps one as an attribute.

    Why it matters
        A module is copied for a target network or a best checkpoint long after its `forward` has put an
        activation, a loss or a hidden state on `self`.

    When it may be wrong
        Where the attribute is replaced before the copy by something that gradlint does not see.

    Instead
        Keep `.detach()`ed tensors on `self`, copy `model.state_dict()` in place of the model, or clone:
        `y.detach().clone()`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.is_leaf.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD211"
    name = "deepcopy-nonleaf"
    effect = "raises"
    events = (refusal.DeepcopiedNonleaf,)
    fix = "safe"
    torch_says = ("support the deepcopy protocol",)
    bad = (
        Bad(
            """\
import copy

import torch

x = torch.ones(3, requires_grad=True)
best = copy.deepcopy(x * 2)  # GRD211
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import copy

import torch

x = torch.ones(3, requires_grad=True)
best = copy.deepcopy(x)
value = (x * 2).detach().clone()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A copy that torch refuses."""
        assert isinstance(event, refusal.DeepcopiedNonleaf)
        yield Report(
            event.node,
            "`deepcopy` meets a tensor that an operation made: torch copies leaves only, and raises here",
            hint="keep `.detach()`ed tensors on what is copied, or copy the `state_dict()`",
            related=() if event.made is None else ((event.made, "the tensor is a result of this operation"),),
            repair=_repair(event),
        )


def _repair(event: refusal.DeepcopiedNonleaf) -> Repair | None:
    """A tensor that is copied itself, not inside of something, gives its values without the graph."""
    node = event.node
    if not event.alone or not isinstance(node, cst.Call) or len(node.args) != 1 or node.args[0].star:
        return None
    new = f"{operand(node.args[0].value)}.detach().clone()"
    return Repair("write `.detach().clone()`", (Change(node, new),))
