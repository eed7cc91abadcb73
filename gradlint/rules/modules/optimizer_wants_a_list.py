from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import optimizers as refusal
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report


class OptimizerWantsAList(EventRule[refusal.UnfitParameters]):
    """An optimizer is given something else than an iterable of tensors or groups.

    What torch does
        It raises a TypeError: "params argument given to the optimizer should be an iterable of Tensors
        or dicts, but got torch.FloatTensor". A tensor can be iterated, but its rows are not leaves. Modules cannot be
        iterated ("'Linear' object is not iterable"), and a list of modules or of generators holds no tensors.

    Why it matters
        The brackets are often missing when a single tensor is optimized, such as an image, a code or a temperature, and
        `.parameters()` or its parentheses when a module is.

    When it may be wrong
        If the line is never executed.

    Instead
        Put the tensor into a list: `torch.optim.SGD([w], lr=0.1)`. Pass `model.parameters()`, and for several modules
        `[*body.parameters(), *head.parameters()]`.

    References
        https://docs.pytorch.org/docs/stable/optim.html#constructing-it
    """

    code = "GRD603"
    name = "optimizer-wants-a-list"
    effect = "raises"
    raises = "params argument given to the optimizer should be an iterable of Tensors or dicts"
    torch_says = (
        "should be an iterable of Tensors or dicts",
        "is not iterable",
        "optimizer can only optimize Tensors",
        "param_group must be a dict",
        "need to be organized in ordered collections",
        "'params'",
    )
    fix = "safe"
    bad = """\
import torch

image = torch.rand(3, 8, 8, requires_grad=True)
optimizer = torch.optim.Adam(image, lr=0.01)  # GRD603
"""
    good = """\
import torch

image = torch.rand(3, 8, 8, requires_grad=True)
optimizer = torch.optim.Adam([image], lr=0.01)
"""

    def check(self, event: refusal.UnfitParameters) -> Report | None:
        said, hint = _SAID[event.given]
        said = said.format(kind=_KINDS.get(event.kind, event.kind))
        repair = _listed(event.node) if event.given == "tensor" else None
        return Report(event.node, f"{said}: torch raises here", hint=hint, repair=repair)


_ALL = "pass `model.parameters()`, of several modules `[*one.parameters(), *other.parameters()]`"
_SAID: dict[refusal.Unfit, tuple[str, str]] = {
    "tensor": ("this optimizer is given a tensor instead of a list of tensors", "put it into a list: `[w]`"),
    "module": ("this optimizer is given a module instead of its parameters", _ALL),
    "method": ("this optimizer is given a method instead of what it returns", "call it: `model.parameters()`"),
    "none": ("this optimizer is given None instead of parameters", _ALL),
    "item": ("this optimizer is given a list with {kind}, which holds tensors or groups only", _ALL),
    "group": ("`add_param_group` takes a dict", 'write `add_param_group({"params": params})`'),
    "dict": ("this optimizer is given a dict, and takes its names for parameters", "pass `params.values()`"),
    "set": ("the parameters of a group are a set, which has no order", "make them a list"),
    "nameless": ("a group of this optimizer has no `params`", 'write `{"params": params, ...}`'),
}
_KINDS = {
    "module": "a module",
    "list": "a list or generator",
    "int": "a number",
    "float": "a number",
    "bool": "a bool",
    "str": "a string",
}


def _listed(node: cst.CSTNode) -> Repair | None:
    """Put the first argument in brackets."""
    if not isinstance(node, cst.Call) or not node.args:
        return None
    first = node.args[0].value
    return Repair("put it into a list", (Change(first, f"[{code(first)}]"),))
