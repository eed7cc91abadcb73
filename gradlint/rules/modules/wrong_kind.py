from __future__ import annotations

from gradlint.domain.refusal.kinds import WrongCount as Miscounted
from gradlint.domain.refusal.kinds import WrongKind as Refused
from gradlint.rules.authoring.phrases import article
from gradlint.rules.base import EventRule, Report

_NAMES = {
    "scalar": "a tensor without dimensions",
    "gradient": "the gradient of a tensor",
    "size": "the size of a tensor",
    "loader": "a `DataLoader`",
    "iterator": "an iterator",
    "layer": "a layer",
    "None": "None",
}
_REFUSED = {
    "call": "cannot be called",
    "index": "cannot be indexed",
    "length": "has no length",
    "loop": "cannot be iterated over",
    "next": "is no iterator",
}
_HINTS = {
    ("size", "call"): "index it: `x.shape[0]`, or call `x.size(0)`",
    ("iterator", "index"): "make a list of it: `list(model.parameters())[0]`",
    ("iterator", "length"): "make a list of it: `len(list(model.parameters()))`",
    ("loader", "index"): "take a batch by `next(iter(loader))`, or an item of the dataset",
    ("loader", "next"): "take a batch by `next(iter(loader))`",
    ("tuple", "attribute"): "take the part that is meant, such as `[0]`",
    ("tuple", "argument"): "take the part that is meant, such as `[0]`",
    ("list", "attribute"): "make a tensor of it with `torch.stack` or `torch.tensor`",
    ("list", "argument"): "make a tensor of it with `torch.stack` or `torch.tensor`",
    ("layer", "argument"): "call the layer that was made: `nn.ReLU()(x)`, or use the function: `F.relu(x)`",
    ("None", "argument"): "return the result: a function without `return` gives None",
    ("number", "argument"): "make a tensor of it with `torch.tensor`, or use `math`",
    ("scalar", "loop"): "its value is `x.item()`",
    ("scalar", "length"): "its number of elements is `x.numel()`",
}


class WrongKind(EventRule[Refused | Miscounted]):
    """A value that torch gives is used as what it is not: a tuple as a tensor, an iterator as a list.

    What torch does
        Python raises an AttributeError or a TypeError: "'tuple' object has no attribute 'sum'", "'generator' object is
        not subscriptable", "'torch.Size' object is not callable", "len() of a 0-d tensor"; or a ValueError, "not enough
        values to unpack". Torch says: "argument 'input' (position 1) must be Tensor, not tuple".

    Why it matters
        `nn.LSTM` and `nn.MultiheadAttention` return tuples, `x.max(dim=1)` values and indices, `model.parameters()` an
        iterator. That shows only when the line runs.

    When it may be wrong
        If the line is never executed. Inside a `try` that catches something nothing is reported.

    Instead
        Take the part that is meant (`output, state = lstm(x)`), make a list of the iterator, index the size.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.LSTM.html
        https://docs.pytorch.org/docs/stable/generated/torch.max.html
    """

    code = "GRD651"
    name = "wrong-kind"
    effect = "raises"
    raises = "'tuple' object has no attribute 'mean'"
    torch_says = (
        r"'(tuple|list|NoneType|torch\.return_types\.\w+)' object has no attribute",
        "is not subscriptable|is not callable|is not an iterator",
        "has no len|len.* of a 0-d tensor|iteration over a 0-d tensor",
        "not enough values to unpack|too many values to unpack",
        "must be Tensor, not|unsupported operand type",
    )
    bad = """\
import torch
from torch import nn

lstm = nn.LSTM(3, 4)
loss = lstm(torch.randn(5, 1, 3)).mean()  # GRD651
loss.backward()
"""
    good = """\
import torch
from torch import nn

lstm = nn.LSTM(3, 4)
output, state = lstm(torch.randn(5, 1, 3))
output.mean().backward()
"""

    def check(self, event: Refused | Miscounted) -> Report | None:
        if isinstance(event, Miscounted):
            names = f"{'at least ' if event.at_least else ''}{event.wanted} name{'' if event.wanted == 1 else 's'}"
            message = f"a {event.kind} of length {event.given} is unpacked into {names}: Python raises here"
            return Report(event.node, message)
        hint = _HINTS.get((event.kind, event.use))
        kind = f"the method `{event.name}`" if event.kind == "method" else _NAMES.get(event.kind)
        kind = kind or f"{article(event.kind)} {event.kind}"
        if event.use == "argument":
            shown = event.name.removeprefix("nn.functional.")
            return Report(event.node, f"`{shown}` takes a tensor, and not {kind}: torch raises here", hint=hint)
        if event.use == "operand":
            message = f"an operator cannot combine {kind} and {article(event.name)} {event.name}: Python raises here"
            return Report(event.node, message)
        said = f"has no `{event.name}`" if event.use == "attribute" else _REFUSED[event.use]
        return Report(event.node, f"{kind} {said}: Python raises here", hint=hint)
