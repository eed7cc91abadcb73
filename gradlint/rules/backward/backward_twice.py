from __future__ import annotations

from gradlint.domain.refusal.backward import SecondBackward
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.base import EventRule, Report


class BackwardTwice(EventRule[SecondBackward]):
    """A backward runs a second time through a part of the graph that an earlier one has freed.

    What torch does
        It raises a RuntimeError: "Trying to backward through the graph a second time (or directly access saved tensors
        after they have already been freed)." A backward frees the tensors saved by the operations it runs through,
        unless `retain_graph=True`. A backward may run again through operations that saved nothing (`(x + 2).sum()`).

    Why it matters
        There are three common causes: two losses that share a forward, a tensor computed before a loop and used in
        every iteration, and a state that is carried from one iteration to the next without `detach()`.

    When it may be wrong
        If one of the two lines is never executed before the other.

    Instead
        Add the losses and call backward once, or recompute the forward before the second backward. In a loop, compute
        the shared part in every iteration, and detach the state that is carried over: `state = state.detach()`, or
        `tuple(s.detach() for s in state)` for an LSTM. Pass `retain_graph=True` to the earlier backward only if no
        optimizer steps and no tensor is written in between: otherwise the second backward raises GRD104's error.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#saved-tensors
    """

    code = "GRD204"
    name = "backward-twice"
    effect = "raises"
    raises = "Trying to backward through the graph a second time"
    bad = """\
import torch

x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward()
loss.backward()  # GRD204
"""
    good = """\
import torch

x = torch.ones(3, requires_grad=True)
loss = (x * x).sum()
loss.backward(retain_graph=True)
loss.backward()
"""
    good_shows = "x.grad.tolist() == [4, 4, 4]"

    def check(self, event: SecondBackward) -> Report | None:
        """Report at the second backward; in a loop, the earlier one is the same line one iteration before."""
        loop = event.earlier is event.node
        again = f"{'from the second iteration on, ' if loop else ''}this backward runs again through"
        part = "both backwards run through this operation"
        if event.read:
            again, part = "this reads a saved tensor of", "this saved the tensor"
        return Report(
            event.node,
            f"{again} {operation(event.part_op, event.part)}, whose saved tensors are freed: torch raises here",
            hint=_LOOP if loop else _TWO,
            related=((event.part, part), (None if loop else event.earlier, "this backward frees its saved tensors")),
        )


_LOOP = "compute that part inside the loop, or detach the state carried over: `state = state.detach()`"
_TWO = (
    "recompute the forward, `detach()` what is reused, or add the losses and call backward once;"
    " `retain_graph=True` helps only if nothing is stepped or written between the two backwards"
)
