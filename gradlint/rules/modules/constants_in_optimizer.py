from __future__ import annotations

from gradlint.domain.fault import optimizers as fault
from gradlint.rules.base import EventRule, Report


class ConstantsInOptimizer(EventRule[fault.ConstantsInOptimizer]):
    """An optimizer has only tensors that do not require grad.

    What torch does
        It accepts them silently. No backward fills their `.grad`, and a step skips tensors without one, so
        nothing changes. If something else in the program requires grad, such as the network that processes an
        image, backward does not raise either.

    Why it matters
        Optimized images, latent codes and adversarial noise are plain tensors, and are often created without
        `requires_grad`: results of `torch.rand(...)`, clones of data and loaded tensors do not require grad.

    When it may be wrong
        If code that gradlint does not see assigns `.grad`. Steps without a backward before them, as in tests
        of schedulers, are not reported.

    Instead
        Call `x.requires_grad_(True)`, or write `torch.rand(..., requires_grad=True)`, before you create the optimizer.

    References
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.requires_grad_.html
    """

    code = "GRD614"
    name = "constants-in-optimizer"
    effect = "silent"
    bad = """\
import torch
from torch import nn

network = nn.Conv2d(3, 4, 3)
content = torch.rand(1, 3, 8, 8)
image = content.clone()
optimizer = torch.optim.Adam([image], lr=0.1)  # GRD614
for _ in range(3):
    optimizer.zero_grad()
    loss = (network(image) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
    bad_shows = "torch.equal(image, content)"
    good = """\
import torch
from torch import nn

network = nn.Conv2d(3, 4, 3)
content = torch.rand(1, 3, 8, 8)
image = content.clone().requires_grad_(True)
optimizer = torch.optim.Adam([image], lr=0.1)
for _ in range(3):
    optimizer.zero_grad()
    loss = (network(image) - 1).pow(2).mean()
    loss.backward()
    optimizer.step()
"""
    good_shows = "not torch.equal(image, content)"

    def check(self, event: fault.ConstantsInOptimizer) -> Report | None:
        step = () if event.step is None else ((event.step, "this step finds no gradient"),)
        frozen = () if event.frozen is None else ((event.frozen, "here they are switched off"),)
        return Report(
            event.node,
            "none of these tensors requires grad: the steps of this optimizer change nothing",
            hint="switch the flag on with `requires_grad_()` before the optimizer is made",
            related=(*step, *frozen),
            severity=None if event.frozen is None else "warning",
        )
