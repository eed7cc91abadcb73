"""GRD109: a tensor made in inference mode is written, or meets autograd, outside of it."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event, Refused, RefusedWrite
from gradlint.rules.base import Bad, Good, Report, Rule
from gradlint.rules.phrases import operation, writing


class InferenceTensor(Rule):
    """A tensor made in inference mode is written, or meets autograd, outside of it.

    What torch does
        Tensors made under `torch.inference_mode()` have no version counter. Outside of it, a write in
        place raises a RuntimeError ("Inplace update to inference tensor outside InferenceMode is not
        allowed"), and so does an operation that would save one for backward ("Inference tensors cannot
        be saved for backward"). An operation that saves nothing, such as `+`, lets them pass; so does
        one that is not recorded.

    Why it matters
        Features from a frozen network, computed fast under `inference_mode` and fed to a head that is
        trained, fail at the head's first layer.

    When it may be wrong
        Where the line is never reached, or runs within inference mode after all.

    Instead
        Use `torch.no_grad()` where the results take part in training, or `.clone()` them outside of
        inference mode.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode
    """

    code = "GRD109"
    name = "inference-tensor"
    effect = "raises"
    events = (
        RefusedWrite,
        Refused,
    )
    bad = (
        Bad(
            """\
import torch
from torch import nn

backbone, head = nn.Linear(4, 8), nn.Linear(8, 2)
with torch.inference_mode():
    features = backbone(torch.randn(3, 4))
loss = head(features).sum()  # GRD109
""",
            error="Inference tensors cannot be saved for backward",
        ),
        Bad(
            """\
import torch

with torch.inference_mode():
    mean = torch.zeros(3)
mean += 1  # GRD109
""",
            error="Inplace update to inference tensor outside InferenceMode is not allowed",
        ),
        Bad(
            """\
import torch

x = torch.randn(4, 3, requires_grad=True) * 1
with torch.inference_mode():
    head = x[:2]
head.zero_()  # GRD109
""",
            error="A view was created in inference mode and is being modified inplace in normal mode",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

backbone, head = nn.Linear(4, 8), nn.Linear(8, 2)
with torch.no_grad():
    features = backbone(torch.randn(3, 4))
head(features).sum().backward()
""",
            shows="head.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

backbone, head = nn.Linear(4, 8), nn.Linear(8, 2)
with torch.inference_mode():
    features = backbone(torch.randn(3, 4))
head(features.clone()).sum().backward()
""",
        ),
        Good(
            """\
import torch

with torch.inference_mode():
    mean = torch.zeros(3)
    mean += 1
shifted = torch.ones(3, requires_grad=True) + mean
shifted.sum().backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Four ways to meet such a tensor: as what is written, as its view, as `out=`, and as what would be saved."""
        if isinstance(event, RefusedWrite) and event.reason in ("inference", "inference-view"):
            what = "a view" if event.reason == "inference-view" else "a tensor"
            place = event.viewed if event.reason == "inference-view" else event.made
            related = () if place is None else ((place, "it is made here"),)
            message = f"{writing(event.op, event.node)} writes to {what} made in inference mode"
        elif isinstance(event, Refused) and event.fault == "inference-write":
            message, related = f"`{event.subject}` writes to a tensor made in inference mode", event.related
        elif isinstance(event, Refused) and event.fault == "inference-saved":
            message = f"{operation(event.subject, event.node)} cannot save a tensor made in inference mode for backward"
            related = event.related
        else:
            return
        hint = "make it under `torch.no_grad()` instead, or use its `.clone()`"
        yield Report(event.node, f"{message}: torch raises here", hint=hint, related=related)
