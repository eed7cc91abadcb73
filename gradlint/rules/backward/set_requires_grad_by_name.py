"""GRD215: `requires_grad` is set by a spelling that sets nothing: `x.requires_grad_ = True`."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import tensors as fault
from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule


class SetRequiresGradByName(Rule):
    """`requires_grad` is set by a spelling that does not set it.

    What torch does
        `x.requires_grad_ = True` puts an attribute in the method's place and leaves the flag as it is;
        later calls of `x.requires_grad_()` raise. On a module it is the same. `x.requires_grad == True`
        as a statement compares. `x.requires_grad(True)` calls a bool: a TypeError, "'bool' object is
        not callable".

    Why it matters
        The first two say nothing: the tensor gets no gradient, or the layer is not frozen.

    When it may be wrong
        Hardly: torch has no attribute of its own that such an assignment could be meant for.

    Instead
        Call the method, `x.requires_grad_(True)`, or assign the flag, `x.requires_grad = True`. Modules
        have the method only.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
    """

    code = "GRD215"
    name = "set-requires-grad-by-name"
    effect = "silent"
    events = (fault.MethodOverwritten, fault.FlagCompared, refusal.FlagCalled)
    fix = "safe or unsafe"
    torch_says = ("'bool' object is not callable",)
    bad = (
        Bad(
            """\
import torch

x = torch.ones(3)
x.requires_grad_ = True  # GRD215
""",
            shows="not x.requires_grad",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

x = torch.ones(3)
x.requires_grad_()
layer = nn.Linear(4, 4)
layer.requires_grad_(False)
""",
            shows="x.requires_grad and not layer.weight.requires_grad",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """The method assigned, the flag compared or called."""
        node = event.node
        if isinstance(event, refusal.FlagCalled):
            assert isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
            name = node.func.attr
            message = "`requires_grad` is a flag and no method: Python raises here"
            yield Report(node, message, _HINT, effect="raises", repair=_named(name, "requires_grad_", safe=True))
        elif isinstance(event, fault.FlagCompared):
            assert isinstance(node, cst.Comparison) and isinstance(node.left, cst.Attribute)
            setting = f"{source(node.left)} = {source(node.comparisons[0].comparator)}"
            repair = Repair("Assign the flag", (Change(node, setting),), safe=False)
            yield Report(node, "this compares `requires_grad` and sets nothing", f"write `{setting}`", repair=repair)
        else:
            assert isinstance(event, fault.MethodOverwritten)
            what = "the layers stay as they are" if event.owner == "module" else "the flag stays as it is"
            yield Report(
                node,
                f"this puts an attribute in the place of the method `requires_grad_`: {what}",
                hint=_HINT,
                repair=_called(node),
            )


_HINT = "call the method: `requires_grad_(True)`"


def _named(name: cst.Name, right: str, *, safe: bool) -> Repair:
    return Repair(f"Call `{right}`", (Change(name, right),), safe=safe)


def _called(node: cst.CSTNode) -> Repair | None:
    """`x.requires_grad_ = value` as the call that is meant."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return None
    call = f"{source(node.targets[0].target)}({source(node.value)})"
    return Repair("Call `requires_grad_`", (Change(node, call),), safe=False)
