"""GRD204: a backward walks a second time through a part of the graph that an earlier one has freed."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal.backward import SecondBackward
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "Trying to backward through the graph a second time"


class BackwardTwice(Rule):
    """A backward walks a second time through a part of the graph that an earlier one has freed.

    What torch does
        It raises a RuntimeError: "Trying to backward through the graph a second time (or directly
        access saved tensors after they have already been freed)." A backward frees what the operations
        on its way have saved, unless `retain_graph=True`. Parts that have saved nothing (`(x +
        2).sum()`) may be walked again, and so may a graph built anew.

    Why it matters
        Three habits lead here: two losses that share a forward, something computed before a loop and
        used in every turn, and a state that is carried from turn to turn without `detach()`.

    When it may be wrong
        Where one of the two lines is never reached on the way to the other.

    Instead
        Add the losses and call backward once. Compute inside the loop what the loop needs. Detach what
        is carried over. Where the same graph is really walked twice, pass `retain_graph=True` to all
        but the last backward.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors
    """

    code = "GRD204"
    name = "backward-twice"
    effect = "raises"
    events = (SecondBackward,)
    bad = (
        Bad(
            """\
import torch

x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward()
loss.backward()  # GRD204
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

encoder, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
code = encoder(torch.randn(2, 4)).tanh()
first, second = a(code).mean(), b(code).mean()
first.backward()
second.backward()  # GRD204
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch

w = torch.ones(3, requires_grad=True)
penalty = w.pow(2).sum()
for _ in range(2):
    loss = (w * torch.randn(3)).sum() + penalty
    loss.backward()  # GRD204
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch

x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward(retain_graph=True)
loss.backward()
""",
            shows="x.grad.tolist() == [4, 4, 4]",
        ),
        Good(
            """\
import torch
from torch import nn

encoder, a, b = nn.Linear(4, 4), nn.Linear(4, 1), nn.Linear(4, 1)
code = encoder(torch.randn(2, 4)).tanh()
loss = a(code).mean() + b(code).mean()
loss.backward()
""",
        ),
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
for _ in range(2):
    loss = (w * torch.randn(3)).sum() + w.pow(2).sum()
    loss.backward()
""",
        ),
        Good(
            """\
import torch

x = torch.ones(3, requires_grad=True)
loss = (x + 2).sum()
loss.backward()
loss.backward()
""",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report at the second backward; in a loop, the earlier one is the same line one iteration before."""
        assert isinstance(event, SecondBackward)
        loop = event.earlier is event.node
        part = operation(event.part_op, event.part)
        again = "each turn after the first walks again" if loop else "this backward walks again"
        if event.read:
            again = "this looks"
        related = [(event.part, "this part of the graph is walked twice" if not event.read else "what this had saved")]
        if not loop:
            related.append((event.earlier, "this backward has freed it"))
        yield Report(
            event.node,
            f"{again} through {part}, whose saved values are freed: torch raises here",
            hint=_LOOP if loop else _TWO,
            related=tuple(related),
        )


_LOOP = "compute that part inside the loop, or `detach()` what is carried over from the turn before"
_TWO = "add the losses and call backward once, or pass `retain_graph=True` to the earlier one"
