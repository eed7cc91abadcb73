from __future__ import annotations

from gradlint.domain.refusal.optimizers import GradientLayout
from gradlint.rules.base import EventRule, Report


class SparseGradient(EventRule[GradientLayout]):
    """An optimizer does not support sparse gradients, or only those.

    What torch does
        An embedding with `sparse=True` gives its weight a sparse gradient. `Adam`, `AdamW`, `RMSprop` and most other
        optimizers raise a RuntimeError in `step`: "Adam does not support sparse gradients, please consider SparseAdam
        instead". `SGD` and `Adagrad` raise if they have a `weight_decay`. `SparseAdam` raises on a dense gradient, and
        `clip_grad_norm_` and `clip_grad_value_` on a sparse one.

    Why it matters
        `sparse=True` saves memory for large vocabularies, but one optimizer for the whole network cannot be `Adam`
        then, and `SparseAdam` cannot train the other layers.

    When it may be wrong
        If the line is never executed.

    Instead
        Train the embedding with `SparseAdam` or `SGD`, and the other parameters with an optimizer of their own; or
        leave out `sparse=True`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Embedding.html
        https://docs.pytorch.org/docs/stable/generated/torch.optim.SparseAdam.html
    """

    code = "GRD616"
    name = "sparse-gradient"
    effect = "raises"
    raises = "does not support sparse gradients"
    torch_says = (
        "does not support (sparse|dense) gradients",
        "sparse, dense",
        "not compatible with sparse gradients",
        "Could not run .* 'SparseC",
    )
    bad = """\
import torch
from torch import nn

table = nn.Embedding(10, 4, sparse=True)
optimizer = torch.optim.Adam(table.parameters())
table(torch.tensor([1, 2])).sum().backward()
optimizer.step()  # GRD616
"""
    good = """\
import torch
from torch import nn

table = nn.Embedding(10, 4, sparse=True)
optimizer = torch.optim.SparseAdam(table.parameters())
table(torch.tensor([1, 2])).sum().backward()
optimizer.step()
"""

    def check(self, event: GradientLayout) -> Report | None:
        which, hint = ("sparse", _SPARSE) if event.sparse else ("dense", _DENSE)
        what = f"`weight_decay` of `{event.by}`" if event.decay else f"`{event.by}`"
        return Report(
            event.node,
            f"{what} does not support the {which} gradient of a parameter: torch raises here",
            hint=hint,
            related=((event.made, "the parameter is created here"),),
        )


_SPARSE = "use `SparseAdam`, or `SGD` without `weight_decay`, for this parameter, or leave out `sparse=True`"
_DENSE = "give `SparseAdam` the weights of embeddings with `sparse=True` only"
