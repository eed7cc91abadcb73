from __future__ import annotations

from gradlint.domain.refusal.transform import CapturedWrite
from gradlint.rules.base import EventRule, Report


class TransformCapturedWrite(EventRule[CapturedWrite]):
    """A function transformed by `torch.func` writes in place to a tensor that it did not create.

    What torch does
        Under `grad`, `vjp`, `jvp`, `jacrev`, `jacfwd` and `hessian`, any write to a tensor that the function
        did not create raises a RuntimeError: the function "attempted to call in-place operation
        (aten::copy_) that would mutate a captured Tensor". Under `vmap`, a tensor that is not batched may be
        written, but not with batched values: "inplace arithmetic(self, *extra_args) is not possible", or
        "output with shape [3] doesn't match the broadcast shape".

    Why it matters
        `torch.func` requires functions without side effects. Running statistics, counters, caches and
        buffers filled in place are side effects. Under `vmap`, so is filling a `torch.zeros(3)`.

    When it may be wrong
        If the line is never executed.

    Instead
        Return the new value (`has_aux=True` lets a function return more than its loss). Under `vmap`, create the tensor
        from one of the arguments, so that it is batched too: `x.new_zeros(3)` or `torch.zeros_like(x)`.

    References
        https://docs.pytorch.org/docs/stable/func.ux_limitations.html
    """

    code = "GRD224"
    name = "transform-captured-write"
    effect = "raises"
    raises = "mutate a captured Tensor"
    torch_says = (
        "mutate a captured Tensor",
        "is not possible because there exists",
        "doesn't match the broadcast shape",
    )
    bad = """\
import torch
from torch.func import grad

seen = torch.zeros(3)


def loss(x):
    seen.copy_(x)  # GRD224
    return (x ** 2).sum()


grad(loss)(torch.randn(3))
"""
    good = """\
import torch
from torch.func import grad


def loss(x):
    return (x ** 2).sum(), x.detach()


gradient, seen = grad(loss, has_aux=True)(torch.randn(3))
"""
    good_shows = "seen.shape == (3,)"

    def check(self, event: CapturedWrite) -> Report | None:
        write = "the index assignment" if event.op == "index assignment" else f"`{event.op}`"
        running = event.transform, f"`{event.by}` runs the function here"
        if event.mapped:
            return Report(
                event.node,
                f"{write} writes batched values to a tensor that is not batched: torch raises here",
                hint="create the tensor from an argument: `x.new_zeros(...)` or `torch.zeros_like(x)`",
                related=(running,),
            )
        return Report(
            event.node,
            f"{write} writes to a tensor created outside the differentiated function: torch raises here",
            hint="return the new value, with `has_aux=True` if necessary",
            related=(running,)
            if event.made is None
            else ((event.made, "the tensor is created here, outside the function"), running),
        )
