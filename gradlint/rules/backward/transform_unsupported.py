from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import transform as refusal
from gradlint.rules.authoring.repairs import code, with_argument
from gradlint.rules.base import Change, EventRule, Repair, Report, Statement

_WHAT: dict[refusal.Unsupported, str] = {
    "method": "`{op}()` is called in a transformed function",
    "function": "`{op}` is called in a transformed function",
    "branch": "a branch depends on batched values",
    "number": "batched values are converted to a Python number",
    "list": "batched values are converted to a list of numbers",
    "array": "batched values are converted to an array",
    "data": "`.data` of a batched tensor is accessed",
    "mask": "a batched mask selects a different number of elements for each example",
    "size": "`{op}` returns a result whose size or value depends on batched values",
    "random": "random numbers are drawn under `vmap`",
    "batch-norm": "batch norm updates the running statistics, which are not batched, with batched values",
    "no-setup-context": "the custom function `{op}` has no `setup_context`, which transforms require",
    "no-vmap-rule": "the custom function `{op}` has no rule for `vmap`",
    "two-vmap-rules": "the custom function `{op}` defines `vmap` and sets `generate_vmap_rule`",
    "saved-hooks": "a function is differentiated while hooks for saved tensors are installed",
    "out": "`out=` is passed to `{op}` on batched values",
    "num-classes": "`one_hot` of batched values is called without `num_classes`",
    "no-batching": "`{op}` has no rule for batched values",
    "escaped": "`{op}` uses a batched tensor outside the function that `vmap` ran",
    "random-shared": "`{op}` draws into a tensor that is not batched",
}

_INSTEAD: dict[refusal.Unsupported, str] = {
    "branch": "select with `torch.where`, which computes both branches",
    "number": "keep the tensor with one element",
    "data": "use `.detach()`",
    "batch-norm": "use group norm or layer norm, or call the layer in evaluation mode",
    "mask": "multiply by the mask, or select with `torch.where`",
    "out": "use the result of the call",
    "num-classes": "pass `num_classes`",
    "escaped": "return the tensor from the function",
    "random-shared": 'create the tensor from an argument, with `x.new_empty(...)`, or pass `randomness="same"`',
    "random": 'pass `randomness="different"` or `randomness="same"`, or draw the numbers outside',
}


class TransformUnsupported(EventRule[refusal.TransformUnsupported]):
    """A function transformed by `torch.func` does what the transform does not support.

    What torch does
        It raises. No transform supports `backward()`, `requires_grad_()`, `retain_grad()`, the functions of
        `torch.autograd.functional`, or custom functions whose `forward` takes a `ctx` and that have no `setup_context`.
        `vmap` also rejects anything that needs the values of one example: an `if` on a tensor, `item()`, `float()`,
        `tolist()`, `numpy()`, `.data`, masks and other operations whose result size depends on the values, custom
        functions without a `vmap` rule, and random numbers unless `randomness` is set.

    Why it matters
        A transform runs the function once, for all inputs at the same time, and tracks gradients itself.
        Code written for one input and for `backward` often does not work under a transform.

    When it may be wrong
        If the line is never executed.

    Instead
        Let the transform compute the gradients. Under `vmap`, select with `torch.where` instead of `if`,
        multiply by a mask instead of indexing with it, and pass `randomness`. For custom functions, define
        `setup_context` and set `generate_vmap_rule = True`.

    References
        https://docs.pytorch.org/docs/stable/func.ux_limitations.html
        https://docs.pytorch.org/docs/stable/notes/extending.func.html
    """

    code = "GRD225"
    name = "transform-unsupported"
    effect = "raises"
    raises = "data-dependent control flow"
    fix = "safe or unsafe"
    torch_says = (
        "vmap",
        "functorch",
        "Batching rule not implemented",
        "setup_context",
        "Cannot access data pointer",
        "does not require grad",
        "Can't detach views",
        "saved tensor hooks",
    )
    bad = """\
import torch


def clipped(x):
    if x.norm() > 1:  # GRD225
        return x / x.norm()
    return x


torch.vmap(clipped)(torch.randn(4, 3))
"""
    good = """\
import torch


def clipped(x):
    return torch.where(x.norm() > 1, x / x.norm(), x)


result = torch.vmap(clipped)(torch.randn(4, 3))
"""
    good_shows = "result.shape == (4, 3)"

    def check(self, event: refusal.TransformUnsupported) -> Report | None:
        """Report an operation that the running transform rejects."""
        return Report(
            event.node,
            f"{_WHAT[event.reason].format(op=event.op)}: torch raises here",
            hint=_INSTEAD.get(event.reason),
            related=((event.transform, f"`{event.by}` runs the function here"),),
            repair=_repair(event),
        )


def _repair(event: refusal.TransformUnsupported) -> Repair | None:
    """Remove what the transform does itself, and conversions to numbers; let random numbers differ."""
    node = event.node
    if event.reason == "random":
        return _randomised(event.transform)
    if event.reason == "data" and isinstance(node, cst.Attribute):
        return Repair("use `.detach()`", (Change(node.attr, "detach()"),), safe=True)
    if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.args:
        return None
    tensor = code(node.func.value)
    if event.reason == "number":
        return Repair("keep the tensor", (Change(node, tensor),), safe=False)
    if event.op == "requires_grad_":
        return Repair("remove it: the transform computes the gradients", (Statement(node, "", tensor),), safe=True)
    return None


def _randomised(called: cst.CSTNode) -> Repair | None:
    """Pass `randomness="different"` to the `vmap` of `vmap(f)(x)`."""
    made = called.func if isinstance(called, cst.Call) else None
    return None if made is None else with_argument(made, 'randomness="different"', safe=False)
