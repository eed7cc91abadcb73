from __future__ import annotations

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import writing
from gradlint.rules.authoring.repairs import out_of_place
from gradlint.rules.base import EventRule, Report


class CustomViewInplace(EventRule[refusal.CustomViewWrite]):
    """A view returned by a custom function, or by a module with a backward hook, is written in place.

    What torch does
        A custom function that returns its input, or a view of it, defines the gradient of that result. A write to
        the result would bypass that definition, so with grad mode on it raises a RuntimeError: "Output 0 of ... is
        a view and is being modified inplace. This view was created inside a custom Function ...". A module with
        `register_full_backward_hook` behaves the same way: torch passes its arguments and its output through a
        custom function of its own.

    Why it matters
        Typically the network uses `nn.ReLU(inplace=True)` and works until a hook is registered on one of its
        modules, as Grad-CAM and DeepLIFT do. Then it fails at the activation, or at the next operation that writes
        to the module's output.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see removes the hook.

    Instead
        Set `inplace=False` on the activations near a hooked module, compute out of place, or clone the result. In a
        custom function, clone the result, or pass it to `ctx.mark_dirty` if `forward` itself writes it. If you only
        need a gradient, `output.register_hook(...)` on the tensor creates no view.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html#torch.nn.Module.register_full_backward_hook
        https://docs.pytorch.org/docs/stable/notes/extending.html
    """

    code = "GRD112"
    name = "custom-view-inplace"
    effect = "raises"
    raises = "is a view and is being modified inplace. This view was created inside a custom Function"
    fix = "safe"
    bad = """\
import torch
from torch import nn

layer = nn.Linear(3, 4)
layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
hidden = layer(torch.randn(2, 3))
hidden += 1  # GRD112
"""
    good = """\
import torch
from torch import nn

layer = nn.Linear(3, 4)
layer.register_full_backward_hook(lambda module, grad_input, grad_output: None)
hidden = layer(torch.randn(2, 3))
hidden = hidden + 1
hidden.sum().backward()
"""

    def check(self, event: refusal.CustomViewWrite) -> Report | None:
        return Report(
            event.node,
            f"{writing(event.op, event.node)} writes to a view made by a custom function or a backward hook: "
            "torch raises here",
            hint="compute out of place (`inplace=False` next to a module with a backward hook), or clone the result",
            related=((event.viewed, "the view is made here"),),
            repair=out_of_place(event.node),
        )
