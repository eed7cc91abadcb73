from __future__ import annotations

from gradlint.domain.refusal import backward as refusal
from gradlint.rules.base import EventRule, Report


class BackwardUnsupported(EventRule[refusal.BackwardUnsupported]):
    """A loss is backpropagated through an operation that has no derivative for the arguments of its call.

    What torch does
        It records the operation, and raises a RuntimeError in backward. An activation that is computed in place is
        differentiated by its result, which a negative slope does not determine: `F.leaky_relu_(x, -1)`, and
        `elu`, `celu` and `rrelu` with `inplace=True`. `torch.linalg.qr(A, mode="r")` has no derivative, and
        `mode="complete"` has none for a matrix with more rows than columns. `acosh_`, `asinh_` and `atanh_` have no
        derivative.

    Why it matters
        The forward works, and the error stands far away from the call that has to change.

    When it may be wrong
        If the backward is never executed.

    Instead
        Compute the activation out of place. Use the default `mode="reduced"` of `torch.linalg.qr`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.linalg.qr.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.functional.leaky_relu.html
    """

    code = "GRD234"
    name = "backward-unsupported"
    effect = "raises"
    raises = "In-place leakyReLu backward calculation is triggered with a negative slope"
    torch_says = (
        "with a negative slope",
        "QR decomposition is not differentiable",
        "derivative of linalg.qr depends",
        "derivative for 'inplace version of",
    )
    bad = """\
import torch
import torch.nn.functional as F

x = torch.randn(4, requires_grad=True)
y = F.leaky_relu(x * 2, -0.5, inplace=True)
y.sum().backward()  # GRD234
"""
    good = """\
import torch
import torch.nn.functional as F

x = torch.randn(4, requires_grad=True)
y = F.leaky_relu(x * 2, -0.5)
y.sum().backward()
"""

    def check(self, event: refusal.BackwardUnsupported) -> Report | None:
        """Report at the backward; the related place is the call of the operation."""
        return Report(
            event.node,
            f"this backward runs through {_WHAT[event.reason]}, which torch does not differentiate: it raises here",
            hint=_INSTEAD[event.reason],
            related=((event.made, "the operation is called here"),),
        )


_WHAT: dict[refusal.Unsupported, str] = {
    "slope": "an activation with a negative slope that was computed in place",
    "without-q": 'a QR decomposition with `mode="r"`',
    "complete": "a complete QR decomposition of a matrix with more rows than columns",
    "sparse": "an operation that has no derivative for sparse tensors",
    "in-place": "an operation that has no derivative where it is computed in place",
}
_INSTEAD: dict[refusal.Unsupported, str] = {
    "slope": "compute the activation out of place",
    "without-q": 'use `mode="reduced"`, the default',
    "complete": 'use `mode="reduced"`, the default',
    "in-place": "compute it out of place, without the underscore",
    "sparse": "compute on `coalesce().values()`, or on `to_dense()`",
}
