from __future__ import annotations

from gradlint.domain.fault import optimizers as fault
from gradlint.rules.base import EventRule, Report


class EmptyOptimizer(EventRule[fault.EmptyOptimizer]):
    """An optimizer is given no parameters.

    What torch does
        It raises a ValueError: "optimizer got an empty parameter list".

    Why it matters
        The module has no registered parameters: layers in a plain Python list or dict are not
        registered. An iterator such as `model.parameters()` is empty after it has been consumed.

    When it may be wrong
        If code that gradlint does not see registers parameters.

    Instead
        Register the layers (`nn.ModuleList`, `nn.ModuleDict`), make tensors `nn.Parameter`s, and call
        `parameters()` again, or keep `list(model.parameters())`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
    """

    code = "GRD602"
    name = "empty-optimizer"
    effect = "raises"
    raises = "optimizer got an empty parameter list"
    bad = """\
import torch
from torch import nn

activation = nn.ReLU()
optimizer = torch.optim.Adam(activation.parameters())  # GRD602
"""
    good = """\
import torch
from torch import nn

activation = nn.PReLU()
optimizer = torch.optim.Adam(activation.parameters())
"""

    def check(self, event: fault.EmptyOptimizer) -> Report | None:
        return Report(
            event.node,
            "this optimizer is given no parameters: torch raises here",
            hint="register layers in `nn.ModuleList` or as attributes, and tensors as `nn.Parameter`",
        )
