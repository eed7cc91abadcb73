from __future__ import annotations

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report
from gradlint.rules.base import EventRule, Report


class NumpyOnLossPath(EventRule[LostLeaf]):
    """A part of the loss is computed with numpy.

    What torch does
        A numpy array has no graph, so torch raises at `numpy()` on a tensor that requires grad. After `detach()` the
        call works, and `torch.from_numpy` returns a tensor without a graph. The backward of a loss computed only from
        it raises a RuntimeError, "element 0 of tensors does not require grad and does not have a grad_fn", If other
        parts of the loss have a graph, the parameters before the array silently get no gradient.

    Why it matters
        The error message of `numpy()` suggests `detach()`. That is right for a plot or a metric,
        but wrong for the loss.

    When it may be wrong
        If the values should have no gradient (a target, a weight, a mask), and code that gradlint does
        not see trains the parameters.

    Instead
        Compute with torch: nearly every numpy function has a counterpart, such as `torch.clamp` for `np.clip`. A
        function that torch lacks can be wrapped in a `torch.autograd.Function` with its own backward.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
        https://docs.pytorch.org/docs/stable/notes/extending.html
    """

    code = "GRD305"
    name = "numpy-on-loss-path"
    effect = "silent"
    raises = "element 0 of tensors does not require grad"
    bad = """\
import numpy as np
import torch
from torch import nn

model = nn.Linear(4, 1)
prediction = model(torch.randn(8, 4)).detach().numpy()  # GRD305
loss = torch.from_numpy(np.square(prediction)).mean()
loss.backward()  # raises
"""
    good = """\
import numpy as np
import torch
from torch import nn

model = nn.Linear(4, 1)
prediction = model(torch.randn(8, 4))
prediction.square().mean().backward()
print(np.square(prediction.detach().numpy()).mean())
"""
    good_shows = "model.weight.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        if event.kind != "numpy":
            return None
        return report(
            event,
            "a part of the loss is computed with numpy here",
            "compute the loss with torch functions, without `.detach()`",
        )
