from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import operation, writing
from gradlint.rules.base import Change, EventRule, Repair, Report

_Event: TypeAlias = (
    refusal.InferenceWrite
    | refusal.InferenceViewWrite
    | refusal.InferenceChange
    | refusal.InferenceSaved
    | refusal.UnrebasedView
)


class InferenceTensor(EventRule[_Event]):
    """A tensor made in inference mode is written, or saved for backward, outside of it.

    What torch does
        Tensors made under `torch.inference_mode()` have no version counter. Outside of it, a write in place raises a
        RuntimeError ("Inplace update to inference tensor outside InferenceMode is not allowed"), and so does an
        operation that would save one for backward ("Inference tensors cannot be saved for backward"). An operation that
        saves nothing, such as `+`, accepts them, and so does one that is not recorded. Reading `_version` raises
        anywhere. A view of a tensor with a graph that is made in inference mode cannot be used after a write to that
        tensor.

    Why it matters
        Features are often computed by a frozen network under `inference_mode` and passed to a head
        that is trained. The head's first layer then raises.

    When it may be wrong
        If the line is never executed, or if its caller runs it in inference mode.

    Instead
        Use `torch.no_grad()` if the results are used in training, or `.clone()` them outside inference mode.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.autograd.grad_mode.inference_mode.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#inference-mode
    """

    code = "GRD109"
    name = "inference-tensor"
    effect = "raises"
    raises = "Inference tensors cannot be saved for backward"
    fix = "safe"
    torch_says = ("[Ii]nference ?(tensor|mode|Mode)",)
    bad = """\
import torch
from torch import nn

backbone, head = nn.Linear(4, 8), nn.Linear(8, 2)
with torch.inference_mode():
    features = backbone(torch.randn(3, 4))
loss = head(features).sum()  # GRD109
"""
    good = """\
import torch
from torch import nn

backbone, head = nn.Linear(4, 8), nn.Linear(8, 2)
with torch.no_grad():
    features = backbone(torch.randn(3, 4))
head(features).sum().backward()
"""
    good_shows = "head.weight.grad is not None"

    def check(self, event: _Event) -> Report | None:
        """Report an inference tensor that is written directly or through a view, changed otherwise, or saved."""
        if isinstance(event, refusal.UnrebasedView):
            return _of_base(event) if event.kind == "inference" else None
        if isinstance(event, refusal.InferenceViewWrite):
            message, said, place, mode = _writes(event, "a view"), _MADE, event.viewed, None
        elif isinstance(event, refusal.InferenceWrite):
            message, said, place, mode = _writes(event, "a tensor"), _MADE, event.made, event.mode
        elif isinstance(event, refusal.InferenceSaved):
            message = f"{operation(event.op, event.node)} cannot save a tensor made in inference mode"
            said, place, mode = "the tensor is created in inference mode here", event.made, event.mode
        else:
            does = "reads the version of" if event.by == "._version" else "changes"
            message, said, place, mode = f"`{event.by}` {does} a tensor made in inference mode", "", None, event.mode
        return Report(
            event.node,
            f"{message}: torch raises here",
            hint="create the tensor under `torch.no_grad()` instead, or use its `.clone()`",
            related=((place, said),),
            repair=_recorded(mode),
        )


def _of_base(event: refusal.UnrebasedView) -> Report:
    return Report(
        event.node,
        f"{writing(event.op, event.node)} writes to the base of a view made in inference mode: torch raises when the "
        "view is used",
        hint="create the view outside inference mode, or after the write",
        related=((event.used, "torch raises here, where the view is used"),),
    )


_MADE = "the tensor is created here"


def _writes(event: refusal.RefusedWrite, what: str) -> str:
    return f"{writing(event.op, event.node)} writes to {what} made in inference mode"


def _recorded(mode: cst.CSTNode | None) -> Repair | None:
    """Replace `inference_mode()` by `no_grad()`, whose tensors are ordinary; a call with a flag is not changed."""
    entered = mode.decorator if isinstance(mode, cst.Decorator) else mode
    if entered is None or (isinstance(entered, cst.Call) and entered.args):
        return None
    return Repair("use `torch.no_grad()`", (Change(entered, "torch.no_grad()"),), imports=("torch",))
