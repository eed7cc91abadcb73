from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import tensors as fault
from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class SetRequiresGradByName(EventRule[fault.MethodOverwritten | fault.FlagCompared | refusal.FlagCalled]):
    """`requires_grad` is set by a spelling that has no effect, such as `x.requires_grad_ = True`.

    What torch does
        `x.requires_grad_ = True` replaces the method by an attribute and does not change the flag; later calls of
        `x.requires_grad_()` raise. The same happens on a module. `x.requires_grad == True` as a statement compares.
        `x.requires_grad(True)` calls a bool: a TypeError, "'bool' object is not callable".

    Why it matters
        The first two are silent: the tensor gets no gradient, or the layer is not frozen.

    When it may be wrong
        Unlikely: torch has no attribute for which such an assignment would be correct.

    Instead
        Call the method, `x.requires_grad_(True)`, or assign the flag, `x.requires_grad = True`. Modules
        have only the method.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.requires_grad_
    """

    code = "GRD215"
    name = "set-requires-grad-by-name"
    effect = "silent"
    fix = "safe or unsafe"
    torch_says = ("'bool' object is not callable",)
    bad = """\
import torch

x = torch.ones(3)
x.requires_grad_ = True  # GRD215
"""
    bad_shows = "not x.requires_grad"
    good = """\
import torch
from torch import nn

x = torch.ones(3)
x.requires_grad_()
layer = nn.Linear(4, 4)
layer.requires_grad_(False)
"""
    good_shows = "x.requires_grad and not layer.weight.requires_grad"

    def check(self, event: fault.MethodOverwritten | fault.FlagCompared | refusal.FlagCalled) -> Report | None:
        """Report an assignment to the method, and a comparison or call of the flag."""
        node = event.node
        if isinstance(event, refusal.FlagCalled):
            assert isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute)
            name = node.func.attr
            message = "`requires_grad` is a flag and not a method: Python raises here"
            return Report(node, message, _HINT, effect="raises", repair=_named(name, "requires_grad_", safe=True))
        if isinstance(event, fault.FlagCompared):
            assert isinstance(node, cst.Comparison) and isinstance(node.left, cst.Attribute)
            setting = f"{source(node.left)} = {source(node.comparisons[0].comparator)}"
            repair = Repair("assign the flag", (Change(node, setting),), safe=False)
            return Report(node, "this compares `requires_grad` and sets nothing", f"write `{setting}`", repair=repair)
        what = "the layers are not changed" if event.owner == "module" else "the flag is not changed"
        return Report(
            node, f"this replaces the method `requires_grad_` by an attribute: {what}", hint=_HINT, repair=_called(node)
        )


_HINT = "call the method: `requires_grad_(True)`"


def _named(name: cst.Name, right: str, *, safe: bool) -> Repair:
    return Repair(f"call `{right}`", (Change(name, right),), safe=safe)


def _called(node: cst.CSTNode) -> Repair | None:
    """Turn `x.requires_grad_ = value` into the intended call."""
    if not isinstance(node, cst.Assign) or len(node.targets) != 1:
        return None
    call = f"{source(node.targets[0].target)}({source(node.value)})"
    return Repair("call `requires_grad_`", (Change(node, call),), safe=False)
