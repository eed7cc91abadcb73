"""GRD105: a value saved for backward is changed through `.data`, which autograd does not notice."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.inplace import HiddenWriteToSaved
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import Bad, Good, Report, Rule


class DataWriteToSaved(Rule):
    """A value saved for backward is changed through `.data`, which autograd does not notice.

    What torch does
        Nothing. `.data` shares memory with the tensor and has a version counter of its own, so that the
        check of backward finds nothing changed. The gradient is computed with the new values, where the
        old ones are right. The same write to `.detach()` or under `torch.no_grad()` is noticed, and
        raises.

    Why it matters
        The loss looks right, the gradient is wrong, and no message says so.

    When it may be wrong
        Where the new values are wanted in the gradient on purpose, as in some estimators; a custom
        `autograd.Function` says so better.

    Instead
        Write after the backward; write to a copy; or drop `.data` and write under `torch.no_grad()`, so
        that torch raises where the order is wrong.

    References
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-correctness-checks
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD105"
    name = "data-write-to-saved"
    effect = "silent"
    events = (HiddenWriteToSaved,)
    bad = (
        Bad(
            """\
import torch

x = torch.tensor([3.0], requires_grad=True)
loss = (x * x).sum()
x.data.zero_()  # GRD105, GRD301
loss.backward()
""",
            shows="differs_from_finite_differences(lambda: (x * x).sum(), x, at=torch.tensor([3.0]))",
        ),
        Bad(
            """\
import torch

x = torch.randn(4, requires_grad=True)
h = torch.sigmoid(x)
loss = h.sum()
h.data.clamp_(0.4, 0.6)  # GRD105
loss.backward()
""",
            shows="differs_from_finite_differences(lambda: torch.sigmoid(x).sum(), x)",
        ),
        Bad(
            """\
import torch

w = torch.tensor([2.0], requires_grad=True)
x = torch.tensor([1.0], requires_grad=True)
loss = (w * x).sum()
w.data = torch.tensor([5.0])  # GRD105, GRD301
loss.backward()
""",
            shows="x.grad.item() == 5",
        ),
    )
    good = (
        Good(
            """\
import torch

x = torch.tensor([3.0], requires_grad=True)
loss = (x * x).sum()
loss.backward()
with torch.no_grad():
    x.zero_()
""",
            shows="x.grad.item() == 6",
        ),
        Good(
            """\
import torch

x = torch.randn(4, requires_grad=True)
h = torch.sigmoid(x)
shown = h.detach().clone().clamp_(0.4, 0.6)
h.sum().backward()
""",
            shows="not differs_from_finite_differences(lambda: torch.sigmoid(x).sum(), x)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report the write that the version counter does not see."""
        assert isinstance(event, HiddenWriteToSaved)
        saver = operation(event.saver_op, event.saver)
        yield Report(
            event.node,
            f"this write through `.data` changes what {saver} saved: the gradient is silently wrong",
            hint="write after the backward, or to a copy; without `.data`, torch would notice",
            related=((event.saver, f"{saver} saves it here"), (event.backward, "this backward is wrong")),
        )
