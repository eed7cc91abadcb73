from __future__ import annotations

from typing import TypeAlias

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report

_Event: TypeAlias = refusal.CustomOpRefused | refusal.OpWithoutBackward


class CustomOpRefused(EventRule[_Event]):
    """A custom operation of `torch.library` is defined, used or differentiated in a way that torch does not take.

    What torch does
        It raises. `custom_op` needs a name with a namespace, `mutates_args`, and annotations of all parameters and of
        the result. What an operation returns must not share memory with its arguments. `register_autograd` takes only
        operations that write to none of their arguments. A backward through an operation without a registered gradient
        raises: "Trying to backward through mylib.op.default but no autograd formula was registered".

    Why it matters
        The forward of an operation without a gradient works, and its result requires grad. The error shows at the first
        backward.

    When it may be wrong
        If code that gradlint does not see registers the gradient.

    Instead
        Register a gradient with `op.register_autograd(backward, setup_context=setup_context)`. Return a new tensor.

    References
        https://docs.pytorch.org/docs/stable/library.html#torch.library.custom_op
        https://docs.pytorch.org/docs/stable/library.html#torch.library.register_autograd
    """

    code = "GRD643"
    name = "custom-op-refused"
    effect = "raises"
    raises = "no autograd formula was registered"
    torch_says = (
        "no autograd formula was registered",
        "must not",
        "Cannot register autograd formula",
        "infer_schema(func)",
        "not enough values to unpack",
        "missing 1 required keyword-only argument: 'mutates_args'",
    )
    bad = """\
import torch
from torch import Tensor


@torch.library.custom_op("mylib::square", mutates_args=())
def square(x: Tensor) -> Tensor:
    return x * x


x = torch.ones(3, requires_grad=True)
square(x).sum().backward()  # GRD643
"""
    good = """\
import torch
from torch import Tensor


@torch.library.custom_op("mylib::square", mutates_args=())
def square(x: Tensor) -> Tensor:
    return x * x


def setup_context(ctx, inputs, output):
    ctx.save_for_backward(*inputs)


def backward(ctx, g):
    (x,) = ctx.saved_tensors
    return 2 * x * g


square.register_autograd(backward, setup_context=setup_context)
x = torch.ones(3, requires_grad=True)
square(x).sum().backward()
"""

    def check(self, event: _Event) -> Report | None:
        if isinstance(event, refusal.OpWithoutBackward):
            return Report(
                event.node,
                "this backward runs through a custom operation without a registered gradient: torch raises here",
                hint="register one with `register_autograd`",
                related=((event.applied, "the operation is called here"),),
            )
        said, instead = _SAID[event.reason]
        return Report(event.node, f"{said.format(event.name)}: torch raises here", hint=instead.format(event.name))


_SAID = {
    "namespace": ("the name of the custom operation has no namespace", "name it as `mylib::{}`"),
    "mutates": (
        "`mutates_args` is missing, or does not fit `{}`",
        "name what it writes to, or give `()`",
    ),
    "unannotated": ("the parameter `{}` has no annotation", "annotate it, as `{}: torch.Tensor`"),
    "no-result": ("`{}` does not say what it returns", "annotate the result, as `-> torch.Tensor`"),
    "writes": ("a gradient is registered for an operation that writes to `{}`", "return a new tensor instead"),
    "aliases": ("`{}` returns a tensor that shares memory with an argument", "return a clone of it"),
}
