from __future__ import annotations

from gradlint.domain.refusal import backward as refusal
from gradlint.rules.base import EventRule, Report


class HookWithoutGrad(EventRule[refusal.HookWithoutGrad | refusal.HookMode]):
    """A hook is registered on a tensor that does not require grad, or `retain_grad()` is called on it.

    What torch does
        It raises a RuntimeError: "cannot register a hook on a tensor that doesn't require gradient", or
        "can't retain_grad on Tensor that has requires_grad=False".

    Why it matters
        The tensor never gets a gradient, so the hook would never run. Usually the tensor is data,
        or the graph was cut before it.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see makes the tensor require grad.

    Instead
        Call `requires_grad_()` on the tensor first, or register the hook on a tensor that gets a gradient.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.retain_grad.html
    """

    code = "GRD219"
    name = "hook-without-grad"
    effect = "raises"
    raises = "cannot register a hook on a tensor that doesn't require gradient"
    torch_says = (
        "cannot register a hook on a tensor",
        "can't retain_grad on",
        "hooks cannot be registered on non-leaf",
        "not possible to get the gradient edge",
        "Expected gradient function to be set",
        "Expects mode to be one of",
    )
    bad = """\
import torch

x = torch.randn(4)
x.register_hook(print)  # GRD219
"""
    good = """\
import torch

x = torch.randn(4, requires_grad=True)
x.register_hook(print)
x.sum().backward()
"""

    def check(self, event: refusal.HookWithoutGrad | refusal.HookMode) -> Report | None:
        if isinstance(event, refusal.HookMode):
            return Report(
                event.node,
                f'`register_multi_grad_hook` has no mode "{event.mode}": torch raises here',
                hint='pass `mode="all"` or `mode="any"`',
            )
        return Report(
            event.node,
            f"`{event.method}` is called on a tensor that does not require grad: torch raises here",
            hint="call `requires_grad_()` on it first, or use a tensor that gets a gradient",
        )
