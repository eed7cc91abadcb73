"""GRD004: a call of `gradlint.reveal`, and what is believed of its argument."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event, Reveal
from gradlint.rules.base import Bad, Good, Report, Rule


class RevealLeftIn(Rule):
    """A call of `gradlint.reveal`: the finding says what is believed of its argument.

    What torch does
        Nothing: the call returns its argument.

    Why it matters
        `reveal` is a question to gradlint: what does it believe of this value? The finding is the answer, as
        `gradlint explain` prints it. In a finished program the call has no use.

    When it may be wrong
        Where several paths lead to the call, the answer is that of one of them; `gradlint explain` shows all.

    Instead
        Remove the call when it has answered.

    References
        https://mypy.readthedocs.io/en/stable/common_issues.html#displaying-the-type-of-an-expression
    """

    code = "GRD004"
    name = "reveal-left-in"
    effect = "legacy"
    events = (Reveal,)
    bad = (
        Bad(
            """\
import torch
from gradlint import reveal

w = torch.ones(3, requires_grad=True)
loss = reveal((w * 2).sum())  # GRD004
loss.backward()
""",
            shows="w.grad.tolist() == [2.0, 2.0, 2.0]",
        ),
        Bad(
            """\
import gradlint
import torch

x = torch.ones(2, 3)
gradlint.reveal(x)  # GRD004
""",
            shows="x.shape == (2, 3)",
        ),
    )
    good = (
        Good(
            """\
import torch

w = torch.ones(3, requires_grad=True)
loss = (w * 2).sum()
loss.backward()
""",
            shows="w.grad.tolist() == [2.0, 2.0, 2.0]",
        ),
        Good(
            """\
import torch


def reveal(value):
    return value


x = reveal(torch.ones(2, 3))
""",
            shows="x.shape == (2, 3)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report what the program has asked for."""
        assert isinstance(event, Reveal)
        if event.asked:
            yield Report(event.node, f"revealed: {event.text}", hint="remove the call when it has answered")
