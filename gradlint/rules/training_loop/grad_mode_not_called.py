from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import training_loop as refusal
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class GradModeNotCalled(EventRule[refusal.GradModeNotCalled]):
    """A grad mode is entered without being called: `with torch.no_grad:`.

    What torch does
        `torch.no_grad`, `torch.enable_grad`, `torch.inference_mode` and `torch.set_grad_enabled` are
        classes, and a class is not a context manager: Python raises a TypeError ("'type' object does
        not support the context manager protocol", in older versions an AttributeError on `__enter__`).
        As a decorator, `@torch.no_grad` without a call works (torch 2.13) and is not reported.

    Why it matters
        The block never runs. Often it belongs to an evaluation that comes after hours of training.

    When it may be wrong
        If code that gradlint does not see binds the name to something else.

    Instead
        Call it: `with torch.no_grad():`. `set_grad_enabled` takes the mode: `with torch.set_grad_enabled(False):`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "GRD513"
    name = "grad-mode-not-called"
    effect = "raises"
    raises = "context manager"
    fix = "safe"
    torch_says = (raises, "context manager protocol")
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
with torch.no_grad:  # GRD513
    print(model(torch.randn(2, 4)))
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
with torch.no_grad():
    print(model(torch.randn(2, 4)))
"""

    def check(self, event: refusal.GradModeNotCalled) -> Report | None:
        assert isinstance(event.node, cst.WithItem)
        context = event.node.item
        text = source(context)
        takes_mode = event.mode.endswith("set_grad_enabled")
        return Report(
            context,
            f"`{text}` is a class and must be called: Python raises here",
            hint=f"write `with {text}({'False' if takes_mode else ''}):`",
            repair=None if takes_mode else Repair(f"call `{text}`", (Change(context, f"{text}()"),)),
        )
