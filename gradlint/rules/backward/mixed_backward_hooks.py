from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report


class MixedBackwardHooks(EventRule[refusal.MixedHooks]):
    """A module is given both a full backward hook and one of `register_backward_hook`.

    What torch does
        It raises a RuntimeError at the second registration: "Cannot use both regular backward hooks and full backward
        hooks on a single Module. Please use only one of them."

    Why it matters
        Often the two are registered by different parts of a program, such as a library that explains a network and
        code that logs gradients, and the error depends on which of them runs.

    When it may be wrong
        If code that gradlint does not see removes the first hook.

    Instead
        Use `register_full_backward_hook` for both: `register_backward_hook` is deprecated.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook
    """

    code = "GRD231"
    name = "mixed-backward-hooks"
    effect = "raises"
    raises = "Cannot use both regular backward hooks and full backward hooks"
    bad = """\
from torch import nn

layer = nn.Linear(3, 2)
layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
layer.register_backward_hook(lambda module, grad_input, grad_output: None)  # GRD231
"""
    good = """\
from torch import nn

layer = nn.Linear(3, 2)
layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
"""

    def check(self, event: refusal.MixedHooks) -> Report | None:
        return Report(
            event.node,
            "this module has a backward hook of the other kind: torch raises here",
            hint="use `register_full_backward_hook` for both",
        )
