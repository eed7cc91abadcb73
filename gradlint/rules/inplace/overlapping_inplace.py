from __future__ import annotations

from typing import TypeAlias

import libcst as cst

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.phrases import writing
from gradlint.rules.authoring.repairs import through
from gradlint.rules.base import EventRule, Report

_Event: TypeAlias = refusal.OverlapWrite | refusal.PartialOverlap


class OverlappingInplace(EventRule[_Event]):
    """A tensor whose elements share memory is written in place.

    What torch does
        `expand`, `expand_as` and `broadcast_to` do not copy: a row that is expanded to eight rows is
        still one row in memory. An elementwise write raises a RuntimeError: "unsupported operation:
        more than one element of the written-to tensor refers to a single memory location. Please
        clone() the tensor before performing the operation." This does not depend on gradients. Some
        writes (`fill_`, `zero_`, index assignment) succeed nevertheless and change every row at once.

        Nor may the other operand share a part of the memory that is written: `x[1:] += x[:-1]` and `x -= x[0]` raise
        "some elements of the input tensor and the written-to tensor refer to a single memory location".

    Why it matters
        The result would depend on the order in which elements are written.

    When it may be wrong
        If the expanded size is one at run time, so that nothing overlaps.

    Instead
        Copy first (`.expand(8, 3).clone()`), use `repeat`, or compute out of place.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.expand.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.repeat.html
    """

    code = "GRD107"
    name = "overlapping-inplace"
    effect = "raises"
    raises = "more than one element of the written-to tensor refers to a single memory location"
    torch_says = (
        raises,
        "some elements of the input tensor and the written-to tensor refer to a single memory location",
    )
    fix = "safe"
    bad = """\
import torch

row = torch.zeros(1, 3)
batch = row.expand(8, 3)
batch += torch.randn(8, 3)  # GRD107
"""
    good = """\
import torch

row = torch.zeros(1, 3)
batch = row.expand(8, 3).clone()
batch += torch.randn(8, 3)
"""

    def check(self, event: _Event) -> Report | None:
        if isinstance(event, refusal.PartialOverlap):
            return Report(
                event.node,
                f"{writing(event.op, event.node)} reads memory that it writes as another element: torch raises here",
                hint="clone the operand on the right first",
            )
        writer = writing(event.op, event.node)
        return Report(
            event.node,
            f"{writer} writes to an expanded tensor, whose elements share memory: torch raises here",
            hint="copy it first with `.clone()`, or use `repeat` instead of `expand`",
            related=((event.viewed, "it is expanded here"),),
            repair=through(event.viewed, "clone", safe=True) if isinstance(event.viewed, cst.Call) else None,
        )
