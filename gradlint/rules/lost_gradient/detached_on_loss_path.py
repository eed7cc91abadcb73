"""GRD309: `detach` stands on the only way from a loss to the parameters it should train."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report, without_call
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class DetachedOnLossPath(Rule):
    """`detach` stands on the only way from a loss to the parameters it should train.

    What torch does
        `t.detach()` has the values of `t` and no graph. A loss behind it alone raises in backward:
        "element 0 of tensors does not require grad and does not have a grad_fn". Where something else
        has a graph, backward runs, and the parameters behind the `detach` get no gradient. So it is with
        `copy.deepcopy(net)`: the copy has leaves of its own, and what trains it leaves `net` as it is.

    Why it matters
        The generator of a GAN that is judged on `fake.detach()`, the actor whose action is detached
        before the critic sees it, the copy that a meta-learner adapts: the optimizer steps, and nothing
        moves.

    When it may be wrong
        A `detach` is a wish: targets, advantages, and the discriminator's fakes need one. So it is
        reported only where it stands in for the whole graph of a loss, or where an optimizer holds
        parameters that no backward of the program ever reaches. A copy is reported only where every step
        of an optimizer finds no gradient in any parameter.

    Instead
        Take the `detach` away from the loss that trains the parameters. A second loss, which must not
        train them, may have its own detached copy.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html
    """

    code = "GRD309"
    name = "detached-on-loss-path"
    effect = "silent"
    events = (LostLeaf,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
prediction = model(torch.randn(8, 4)).detach()  # GRD309
loss = prediction.pow(2).mean()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
x = torch.randn(8, 4)
target = model(x).detach() + 1
(model(x) - target).pow(2).mean().backward()
""",
            shows="model.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A detach on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind == "copy" and event.idle:
            hint = "give the optimizer the parameters of the copy, or bring the gradients of the copy back to them"
            yield report(event, "what is trained is a copy, with parameters of its own", hint)
        if event.kind != "detach":
            return
        repair = without_call(event, "take the `detach` away") if event.op == "detach" else None
        hint = "take the `detach` away from the loss that should train what lies behind it"
        yield report(event, "`detach` is on the only way to what should be trained", hint, repair)
