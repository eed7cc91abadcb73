from __future__ import annotations

import libcst as cst

from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report, without_call
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class NumberOnLossPath(EventRule[LostLeaf]):
    """A tensor is converted to a Python number before it is used in the loss.

    What torch does
        `item()`, `tolist()`, `float()`, `int()` and the functions of `math` return Python numbers, which have no graph.
        A loss computed only from numbers has no `backward`, or, if it is converted to a tensor again, raises in
        backward: "element 0 of tensors does not require grad and does not have a grad_fn". If the loss has other parts
        with a graph, the parameters from which the number was computed silently get no gradient.

    Why it matters
        `item()` is right for printing and for running totals, and is often copied from there into the loss.

    When it may be wrong
        If the number is intentional, such as a weight or a temperature computed from a value.
        Parameters that another backward of the program trains are not reported.

    Instead
        Keep the tensor in the loss, and call `item()` only to print or store it. Use `torch.sqrt`,
        `torch.exp` and `torch.log` instead of the functions of `math`.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.item.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html
    """

    code = "GRD304"
    name = "number-on-loss-path"
    effect = "silent"
    fix = "unsafe"
    torch_says = (
        "'float' object has no attribute 'backward'",
        "element 0 of tensors does not require grad",
        "outputs must be a Tensor or an iterable of Tensors",
    )
    bad = """\
import torch
from torch import nn

m, n = nn.Linear(2, 2), nn.Linear(2, 1)
x = torch.ones(1, 2)
total = m(x).pow(2).sum()
total = total + n(x).pow(2).sum().item()  # GRD304
total.backward()
"""
    bad_shows = "grad_is_none(n.weight)"
    good = """\
import torch
from torch import nn

m, n = nn.Linear(2, 2), nn.Linear(2, 1)
x = torch.ones(1, 2)
total = m(x).pow(2).sum() + n(x).pow(2).sum()
total.backward()
print(float(total), total.item())
"""
    good_shows = "n.weight.grad is not None"

    def check(self, event: LostLeaf) -> Report | None:
        if event.kind != "item":
            return None
        repair = _repair(event) if event.op == "item" else None
        hint = "keep the tensor in the loss, and use the number only for printing"
        return report(event, f"`{event.op}` converts a part of the loss to a Python number", hint, repair)


def _repair(event: LostLeaf) -> Repair | None:
    """Replace the number, and a tensor that is created from it, by the original tensor."""
    call, copied = event.node, event.copied
    plain = without_call(event, "keep the tensor")
    if plain is None or copied is None or not isinstance(call, cst.Call) or not isinstance(call.func, cst.Attribute):
        return plain
    tensor = source(call.func.value)
    if copied.args[0].value is call:
        return Repair("keep the tensor", (Change(copied, tensor),), safe=False)
    changes = (Change(copied.func, "torch.stack"), Change(call, f"{tensor}.squeeze()"))
    return Repair("use `torch.stack`", changes, False, ("torch",))
