"""GRD513: `with torch.no_grad:` names the class and makes no context manager of it."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.refusal import training_loop as refusal
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule

_RAISES = "context manager"


class GradModeNotCalled(Rule):
    """A grad mode is entered without being called: `with torch.no_grad:`.

    What torch does
        `torch.no_grad`, `torch.enable_grad`, `torch.inference_mode` and `torch.set_grad_enabled` are
        classes, and a class is no context manager: Python raises a TypeError ("'type' object does not
        support the context manager protocol", in older versions an AttributeError on `__enter__`). As a
        decorator, `@torch.no_grad` without a call works (torch 2.13) and is not reported.

    Why it matters
        The block never runs. It often stands in an evaluation that comes after hours of training.

    When it may be wrong
        Where the name is bound to something else by code that gradlint does not see.

    Instead
        Call it: `with torch.no_grad():`. `set_grad_enabled` takes the mode: `with
        torch.set_grad_enabled(False):`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#locally-disabling-gradient-computation
    """

    code = "GRD513"
    name = "grad-mode-not-called"
    effect = "raises"
    events = (refusal.GradModeNotCalled,)
    fix = "safe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
with torch.no_grad:  # GRD513
    print(model(torch.randn(2, 4)))
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
model.eval()
with torch.inference_mode:  # GRD513
    print(model(torch.randn(2, 4)))
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

with torch.enable_grad:  # GRD513
    pass
""",
            error="context manager protocol",
        ),
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(2, 1)


def predict(x):
    with torch.inference_mode:  # GRD513
        return model(x)


predict(torch.ones(1, 2))
""",
            error="context manager protocol",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
with torch.no_grad():
    print(model(torch.randn(2, 4)))
""",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)


@torch.no_grad
def predict(x):
    return model(x)


assert not predict(torch.randn(2, 4)).requires_grad
""",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(2, 1)


@torch.no_grad()
def predict(x):
    return model(x)


predict(torch.ones(1, 2))
""",
        ),
        Good(
            """\
import torch

with torch.inference_mode(), torch.enable_grad():
    torch.ones(2)
with torch.set_grad_enabled(False):
    torch.ones(2)
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A class of torch where a context manager is wanted."""
        assert isinstance(event, refusal.GradModeNotCalled)
        assert isinstance(event.node, cst.WithItem)
        context = event.node.item
        text = source(context)
        takes_mode = event.mode.endswith("set_grad_enabled")
        repair = Repair(f"Call `{text}`", (Change(context, f"{text}()"),))
        yield Report(
            context,
            f"`{text}` is a class and is not called: Python raises here",
            hint=f"write `with {text}({'False' if takes_mode else ''}):`",
            repair=None if takes_mode else repair,
        )
