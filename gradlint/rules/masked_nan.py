"""GRD405: a mask hides infinite values from the result, and not from the gradient."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event, MaskedSingularity
from gradlint.rules.base import Bad, Good, Report, Rule

_TAKES = {"div": "the divisor", "pow": "the base"}


class MaskedNan(Rule):
    """A mask hides infinite or undefined values from the result, and not from the gradient.

    What torch does
        `torch.where(x > 0, x.log(), 0)` is right everywhere, and its gradient at 0 is NaN: the mask sends
        a gradient of 0 into the logarithm, whose derivative there is infinite, and 0 times infinity is
        NaN. The same happens with `sqrt`, a division, a fractional power, and with every other way to
        select: a product with the mask, a subscript, `masked_fill`, `nan_to_num`.

    Why it matters
        The loss looks healthy. One element at the excluded value makes the whole gradient of what it was
        computed from NaN, and the next step of the optimizer makes every parameter NaN.

    When it may be wrong
        Where the excluded value never comes up; then the mask is needless.

    Instead
        Mask what goes in, and what comes out as well: `safe = torch.where(x > 0, x, 1)` and then
        `torch.where(x > 0, safe.log(), 0)`. Or compute on the selected elements only (`x[x > 0].log()`),
        or keep away from the edge (`x.clamp(min=1e-8)`).

    References
        https://docs.pytorch.org/docs/stable/generated/torch.where.html
        https://github.com/pytorch/pytorch/issues/4132
    """

    code = "GRD405"
    name = "masked-nan"
    effect = "silent"
    events = (MaskedSingularity,)
    bad = (
        Bad(
            """\
import torch

x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
roots = x.sqrt()  # GRD405
loss = torch.where(x > 0, roots, torch.zeros_like(x)).sum()
loss.backward()
""",
            shows="loss.isfinite() and x.grad.isnan().any()",
        ),
        Bad(
            """\
import torch

hits = torch.tensor([3.0, 0.0], requires_grad=True)
shots = torch.tensor([4.0, 0.0])
rate = hits / shots  # GRD405
rate = rate.masked_fill(shots == 0, 0.0)
rate.sum().backward()
""",
            shows="rate.isfinite().all() and hits.grad.isnan().any()",
        ),
        Bad(
            """\
import torch

p = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
entropy = -(p * p.log())[p > 0].sum()  # GRD405
entropy.backward()
""",
            shows="entropy.isfinite() and p.grad.isnan().any()",
        ),
    )
    good = (
        Good(
            """\
import torch

x = torch.tensor([0.0, 1.0, 4.0], requires_grad=True)
safe = torch.where(x > 0, x, torch.ones_like(x))
torch.where(x > 0, safe.sqrt(), torch.zeros_like(x)).sum().backward()
""",
            shows="x.grad.isfinite().all()",
        ),
        Good(
            """\
import torch

p = torch.tensor([0.5, 0.5, 0.0], requires_grad=True)
positive = p[p > 0]
entropy = -(positive * positive.log()).sum()
entropy.backward()
""",
            shows="p.grad.isfinite().all()",
        ),
        Good(
            """\
import torch

x = torch.tensor([-1.0, 0.0, 2.0], requires_grad=True)
torch.where(x > 0, x * x, torch.sin(x)).sum().backward()
""",
            shows="x.grad.isfinite().all()",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A selection over an operation that is singular at what is left out."""
        if not isinstance(event, MaskedSingularity):
            return
        takes = _TAKES.get(event.op, "the argument")
        yield Report(
            event.node,
            f"{event.how} hides what `{event.op}` gives at an excluded value, but not its gradient, which is NaN there",
            hint=f"mask {takes} of `{event.op}` first, so that the excluded values never get in",
            related=((event.mask, "the mask acts here"),),
        )
