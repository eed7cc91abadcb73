from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal.backward import StaleSaved
from gradlint.rules.authoring.phrases import operation, writing
from gradlint.rules.authoring.repairs import built_out_of_place, out_of_place
from gradlint.rules.base import EventRule, Repair, Report


class SavedTensorModified(EventRule[StaleSaved]):
    """A value that autograd saved for backward is changed in place before that backward.

    What torch does
        Every operation saves what its derivative needs: `exp` its result, `x * y` both factors, a
        linear layer its input. The write itself succeeds; the backward compares version counters and
        raises a RuntimeError: "one of the variables needed for gradient computation has been modified
        by an inplace operation". Operations that save nothing (`+`, `sum`, `cat`) are unaffected.

    Why it matters
        The error is raised at the backward and names neither the write nor its line, and even
        anomaly mode shows only the operation that saved the value. gradlint reports the write.

    When it may be wrong
        If the write is never executed before that backward, or if code that gradlint does not see
        replaces the tensors in between.

    Instead
        Write out of place (`h = h + 1`), write to a copy (`h.clone()`), remove `inplace=True` after
        this operation, or write after the backward.

    References
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
        https://docs.pytorch.org/docs/stable/autograd.html#in-place-operations-on-tensors
    """

    code = "GRD103"
    name = "saved-tensor-modified"
    effect = "raises"
    raises = "modified by an inplace operation"
    fix = "safe"
    bad = """\
import torch

x = torch.randn(4, requires_grad=True)
h = x.exp()
h += 1  # GRD103
h.sum().backward()  # raises
"""
    good = """\
import torch

x = torch.randn(4, requires_grad=True)
h = x.exp()
h = h + 1
h.sum().backward()
"""
    good_shows = "torch.equal(x.grad, x.detach().exp())"

    def check(self, event: StaleSaved) -> Report | None:
        """Report a write that the version counter detects; GRD104 reports writes by an optimizer."""
        if event.by == "optimizer.step":
            return None
        saver = operation(event.saver_op, event.saver)
        method = isinstance(event.backward, cst.FunctionDef)
        needing = "the backward of what this returns needs it" if method else "this backward needs it"
        what = f"the result that {saver} saved" if event.label == ">" else f"a value that {saver} saved"
        made = () if event.built is None else ((event.built, "the module that writes in place is made here"),)
        return Report(
            event.node,
            f"{writing(event.by, event.node)} changes {what}: torch raises at the backward",
            hint=_NO_INPLACE if event.by.startswith("nn.") else _OUT_OF_PLACE,
            related=((event.saver, f"{saver} saves it here"), (event.backward, needing), *made),
            repair=_repair(event),
        )


_NO_INPLACE = "remove `inplace=True` after an operation that saves its result"
_OUT_OF_PLACE = "write out of place, write to a copy (`.clone()`), or write after the backward"


def _repair(event: StaleSaved) -> Repair | None:
    """Write out of place, unless the tensor is a leaf: a new tensor under its name would not be trained."""
    if event.built is not None:
        return built_out_of_place(event.built)
    return None if event.leaf else out_of_place(event.node)
