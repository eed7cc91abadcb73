from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import tensors as refusal
from gradlint.rules.authoring.phrases import source, unless_off
from gradlint.rules.authoring.repairs import receiver_through
from gradlint.rules.base import EventRule, Report


class NumpyOnGrad(EventRule[refusal.NumpyOnGrad]):
    """A tensor that requires grad is converted to a numpy array, or exported by DLPack.

    What torch does
        It raises a RuntimeError: "Can't call numpy() on Tensor that requires grad. Use
        tensor.detach().numpy() instead." numpy's functions raise too if they are called on such a
        tensor or a list with one, because they convert it. Under `torch.no_grad()` the conversion
        is accepted. `numpy(force=True)` detaches the tensor and copies it to the CPU. `torch.from_dlpack` raises, too:
        "Can't export tensors that require gradient", with grad mode disabled as well.

    Why it matters
        An array has no graph, so torch requires an explicit `detach()`. If the array is used in the
        loss again, the gradient is lost.

    When it may be wrong
        If the line is never executed. The finding is a warning in a function that is not called in
        the file and does not call backward, because its callers may disable grad mode.

    Instead
        Use `t.detach().numpy()` for plots and metrics (`t.detach().cpu().numpy()` from a GPU), and `loss.item()` for
        logged losses. In the computation of a loss, use torch functions instead of numpy's.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.numpy.html
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
    """

    code = "GRD210"
    name = "numpy-on-grad"
    effect = "raises"
    raises = "Can't call numpy\\(\\) on Tensor that requires grad"
    torch_says = ("Can't call numpy\\(\\) on Tensor that requires grad", "Can't export tensors that require gradient")
    fix = "safe"
    bad = """\
import torch
from torch import nn

model = nn.Linear(4, 2)
scores = model(torch.randn(3, 4)).numpy()  # GRD210
"""
    good = """\
import torch
from torch import nn

model = nn.Linear(4, 2)
scores = model(torch.randn(3, 4)).detach().numpy()
"""

    def check(self, event: refusal.NumpyOnGrad) -> Report | None:
        return Report(
            event.node,
            f"{_call(event.node)} a tensor that requires grad: torch raises here{unless_off(event.may_be_off)}",
            severity="warning" if event.may_be_off else None,
            hint="call `.detach()` first; in the computation of a loss, use torch functions instead",
            related=((event.made, "the tensor is computed here"),),
            repair=receiver_through(event.node, "detach", safe=True) if _is_numpy_method(event.node) else None,
        )


def _call(node: cst.CSTNode) -> str:
    """Return the beginning of the message, for the method or for a function of numpy."""
    if isinstance(node, cst.Call) and not _is_numpy_method(node):
        return f"`{source(node.func)}` is given"
    return "`numpy()` is called on"


def _is_numpy_method(node: cst.CSTNode) -> bool:
    """Return whether a call is `x.numpy()` rather than a function of numpy, which may take a list of tensors."""
    function = node.func if isinstance(node, cst.Call) else None
    return isinstance(function, cst.Attribute) and function.attr.value == "numpy"
