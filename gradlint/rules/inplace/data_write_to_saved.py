from __future__ import annotations

from gradlint.domain.fault.inplace import HiddenWriteToSaved, SavedMemoryChanged
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import EventRule, Report


class DataWriteToSaved(EventRule[HiddenWriteToSaved | SavedMemoryChanged]):
    """A value saved for backward is changed through `.data` or an array of numpy, which autograd does not notice.

    What torch does
        Nothing. `.data` shares memory with the tensor but has its own version counter, so the check in backward finds
        no change. The gradient is computed with the new values, although the old ones would be correct. The same write
        through `.detach()` or under `torch.no_grad()` is detected, and backward raises. An array of numpy that shares
        its memory with a tensor (`torch.from_numpy`, `.numpy()`) has no version counter at all.

    Why it matters
        The loss is right, the gradient is wrong, and torch gives no warning.

    When it may be wrong
        If the gradient is meant to use the new values, as in some estimators. A custom
        `autograd.Function` states that intent more clearly.

    Instead
        Write after the backward; write to a copy; or replace `.data` by a write under
        `torch.no_grad()`, so that torch raises if the order is wrong.

    References
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD105"
    name = "data-write-to-saved"
    effect = "silent"
    bad = """\
import torch

x = torch.tensor([3.0], requires_grad=True)
loss = (x * x).sum()
x.data.zero_()  # GRD105, GRD301
loss.backward()
"""
    bad_shows = "differs_from_finite_differences(lambda: (x * x).sum(), x, at=torch.tensor([3.0]))"
    good = """\
import torch

x = torch.tensor([3.0], requires_grad=True)
loss = (x * x).sum()
loss.backward()
with torch.no_grad():
    x.zero_()
"""
    good_shows = "x.grad.item() == 6"

    def check(self, event: HiddenWriteToSaved | SavedMemoryChanged) -> Report | None:
        """Report the write that the version counter does not see; the backward, where a run has not seen it either."""
        saver = operation(event.saver_op, event.saver)
        if isinstance(event, SavedMemoryChanged):
            return Report(
                event.node,
                f"what {saver} saved has changed, and its version counter has not: the gradient is silently wrong",
                hint="write to a copy of what is saved: through `.data` or an array of numpy, torch does not see the "
                "write",
                related=((event.saver, f"{saver} saves it here"),),
            )
        return Report(
            event.node,
            f"this write {_WAYS[event.numpy]} changes what {saver} saved: the gradient is silently wrong",
            hint=_HINTS[event.numpy],
            related=(
                (event.saver, f"{saver} saves it here"),
                (event.backward, "this backward computes a wrong gradient"),
            ),
        )


_WAYS = {False: "through `.data`", True: "to an array of numpy, whose memory a tensor shares,"}
_HINTS = {
    False: "write after the backward, or to a copy; under `torch.no_grad()` instead of `.data`, torch detects "
    "the write",
    True: "write after the backward, or give torch a copy: `torch.tensor(array)`",
}
