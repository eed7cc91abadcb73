"""GRD109: a tensor made in inference mode is written, or meets autograd, outside of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import libcst as cst

from gradlint.domain.event import Event, Refused, RefusedWrite
from gradlint.rules.authoring.phrases import operation, writing
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule

_Told: TypeAlias = tuple[str, tuple[tuple[cst.CSTNode, str], ...]]


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
    fix = "safe"
    events = (
        RefusedWrite,
        Refused,
    )
    torch_says = ("[Ii]nference ?(tensor|mode|Mode)",)
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
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Four ways to meet such a tensor: written, as a view, as `out=`, and as what would be saved."""
        told = _written(event) if isinstance(event, RefusedWrite) else _met(event)
        if told is None:
            return
        message, related = told
        yield Report(
            event.node,
            f"{message}: torch raises here",
            hint="make it under `torch.no_grad()` instead, or use its `.clone()`",
            related=related,
            repair=_recorded(event.mode) if isinstance(event, (Refused, RefusedWrite)) else None,
        )


def _written(event: RefusedWrite) -> _Told | None:
    if event.reason not in ("inference", "inference-view"):
        return None
    what, place = ("a tensor", event.made) if event.reason == "inference" else ("a view", event.viewed)
    related = () if place is None else ((place, "it is made here"),)
    return f"{writing(event.op, event.node)} writes to {what} made in inference mode", related


def _recorded(mode: cst.CSTNode | None) -> Repair | None:
    """`inference_mode()` becomes `no_grad()`, whose tensors are like any other; one with a flag is left alone."""
    entered = mode.decorator if isinstance(mode, cst.Decorator) else mode
    if entered is None or (isinstance(entered, cst.Call) and entered.args):
        return None
    return Repair("use `torch.no_grad()`", (Change(entered, "torch.no_grad()"),), imports=("torch",))


def _met(event: Event) -> _Told | None:
    if not isinstance(event, Refused):
        return None
    if event.fault == "inference-write":
        return f"`{event.subject}` changes a tensor made in inference mode", event.related
    if event.fault == "inference-saved":
        op = operation(event.subject, event.node)
        return f"{op} cannot save a tensor made in inference mode", event.related
    return None
