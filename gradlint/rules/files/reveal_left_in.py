from __future__ import annotations

from gradlint.domain.event import Reveal
from gradlint.rules.base import EventRule, Report


class RevealLeftIn(EventRule[Reveal]):
    """A call of `gradlint.reveal`. The finding says what gradlint knows about its argument.

    What torch does
        Nothing: the call returns its argument.

    Why it matters
        `reveal` asks gradlint what it knows about a value. The finding is the answer, in the form printed by
        `gradlint explain`. The call has no use in a finished program.

    When it may be wrong
        If several paths lead to the call, the answer is that of one path. `gradlint explain` shows all.

    Instead
        Remove the call when you no longer need the answer.

    References
        https://mypy.readthedocs.io/en/stable/common_issues.html#displaying-the-type-of-an-expression
    """

    code = "GRD004"
    name = "reveal-left-in"
    effect = "legacy"
    bad = """\
import torch
from gradlint import reveal

w = torch.ones(3, requires_grad=True)
loss = reveal((w * 2).sum())  # GRD004
loss.backward()
"""
    bad_shows = "w.grad.tolist() == [2.0, 2.0, 2.0]"
    good = """\
import torch

w = torch.ones(3, requires_grad=True)
loss = (w * 2).sum()
loss.backward()
"""
    good_shows = "w.grad.tolist() == [2.0, 2.0, 2.0]"

    def check(self, event: Reveal) -> Report | None:
        if event.asked:
            return Report(
                event.node, f"revealed: {event.text}", hint="remove the call when you no longer need the answer"
            )
        return None
