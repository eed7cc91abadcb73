from __future__ import annotations

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report, without_call
from gradlint.rules.base import EventRule, Report


class DetachedOnLossPath(EventRule[LostLeaf]):
    """`detach` cuts the only path from a loss to the parameters that it should train.

    What torch does
        `t.detach()` has the values of `t` but no graph. A loss that is computed only from it raises in backward:
        "element 0 of tensors does not require grad and does not have a grad_fn". If another part of the loss has a
        graph, backward runs, and the parameters from which `t` was computed get no gradient. `copy.deepcopy(net)` has a
        similar effect: the copy has its own leaves, and training it does not change `net`.

    Why it matters
        The generator of a GAN is trained on the loss of `fake.detach()`, the action of an actor is detached before it
        is passed to the critic, or a meta-learner adapts a copy: the optimizer steps, and no parameter changes.

    When it may be wrong
        If the cut is intentional: targets, advantages, and the discriminator's fakes need a `detach`. It is therefore
        reported only if it cuts the whole graph of a loss, or if no backward of the program reaches some parameters of
        an optimizer. A copy is reported only if no parameter of the optimizer has a gradient at any of its steps.

    Instead
        Remove the `detach` from the loss that trains the parameters. A second loss that must not
        train them can use its own detached copy.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html
    """

    code = "GRD309"
    name = "detached-on-loss-path"
    effect = "silent"
    raises = "element 0 of tensors does not require grad"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
prediction = model(torch.randn(8, 4)).detach()  # GRD309
loss = prediction.pow(2).mean()
loss.backward()  # raises
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 1)
x = torch.randn(8, 4)
target = model(x).detach() + 1
(model(x) - target).pow(2).mean().backward()
"""
    good_shows = "model.weight.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        if event.kind == "copy" and event.idle:
            hint = "pass the parameters of the copy to the optimizer, or copy their gradients back"
            return report(event, "this copy has its own parameters, and the loss depends only on those", hint)
        if event.kind != "detach":
            return None
        repair = without_call(event, "remove `detach`") if event.op == "detach" else None
        hint = "remove the `detach` from the loss that should train these parameters"
        return report(
            event, "`detach` cuts the only path from the loss to the parameters that it should train", hint, repair
        )
