"""GRD224: a function below a transform of torch.func writes to a tensor from outside."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal.transform import CapturedWrite
from gradlint.rules.base import Bad, Good, Report, Rule


class TransformCapturedWrite(Rule):
    """A function that `torch.func` differentiates or maps writes in place to a tensor from outside.

    What torch does
        Below `grad`, `vjp`, `jvp`, `jacrev`, `jacfwd` and `hessian`, any write to a tensor that the function
        did not make raises a RuntimeError: the function "attempted to call in-place operation (aten::copy_)
        that would mutate a captured Tensor". Below `vmap`, a tensor that is the same for all runs may be
        written, but not with values that differ from run to run: "inplace arithmetic(self, *extra_args) is
        not possible", or "output with shape [3] doesn't match the broadcast shape".

    Why it matters
        `torch.func` wants functions without side effects. Running statistics, counters, caches, and buffers
        that are filled in place are side effects, and so is `torch.zeros(3)` that is filled below `vmap`.

    When it may be wrong
        Where the line is never reached.

    Instead
        Give the new value back as a result (`has_aux=True` lets a function return more than its loss). Below
        `vmap`, make the tensor to be filled from one of the arguments: `x.new_zeros(3)` or
        `torch.zeros_like(x)` stands for several, too.

    References
        https://docs.pytorch.org/docs/stable/func.ux_limitations.html
    """

    code = "GRD224"
    name = "transform-captured-write"
    effect = "raises"
    events = (CapturedWrite,)
    torch_says = r"mutate a captured Tensor|is not possible because there exists|doesn't match the broadcast shape"
    bad = (
        Bad(
            """\
import torch
from torch.func import grad

seen = torch.zeros(3)


def loss(x):
    seen.copy_(x)  # GRD224
    return (x ** 2).sum()


grad(loss)(torch.randn(3))
""",
            error="mutate a captured Tensor",
        ),
        Bad(
            """\
import torch


def padded(x):
    out = torch.zeros(5)
    out[:3] = x  # GRD224
    return out


torch.vmap(padded)(torch.randn(4, 3))
""",
            error="is not possible because there exists",
        ),
        Bad(
            """\
import torch
from torch.func import jacrev


class Model:
    def __init__(self):
        self.steps = torch.zeros(3)

    def __call__(self, x):
        self.steps += x  # GRD224
        return torch.tanh(x) * 2


jacobian = jacrev(Model())(torch.randn(3))
""",
            error="mutate a captured Tensor",
        ),
        Bad(
            """\
import torch
from torch.func import grad_and_value

history = torch.zeros(4, 2)


def loss(params, x):
    prediction = x @ params["w"]
    history[0] = prediction  # GRD224
    return prediction.pow(2).sum()


params = {"w": torch.ones(3, 2)}
gradients, value = grad_and_value(loss)(params, torch.randn(3))
""",
            error="mutate a captured Tensor",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch.func import grad


def loss(x):
    return (x ** 2).sum(), x.detach()


gradient, seen = grad(loss, has_aux=True)(torch.randn(3))
""",
            shows="seen.shape == (3,)",
        ),
        Good(
            """\
import torch


def padded(x):
    out = x.new_zeros(5)
    out[:3] = x
    return out


result = torch.vmap(padded)(torch.randn(4, 3))
""",
            shows="result.shape == (4, 5)",
        ),
        Good(
            """\
import torch
from torch.func import grad_and_value


def loss(params, x):
    prediction = x @ params["w"]
    return prediction.pow(2).sum(), prediction


params = {"w": torch.ones(3, 2)}
gradients, (total, value) = grad_and_value(loss, has_aux=True)(params, torch.randn(3))
""",
            shows="value.shape == (2,)",
        ),
        Good(
            """\
import torch

calls = torch.zeros(3)


def counted(x):
    calls.add_(1)
    return x * 2


result = torch.vmap(counted)(torch.randn(4, 3))
""",
            shows="result.shape == (4, 3)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A write that a transform refuses."""
        assert isinstance(event, CapturedWrite)
        write = "the index assignment" if event.op == "index assignment" else f"`{event.op}`"
        running = event.transform, f"`{event.by}` runs the function here"
        if event.mapped:
            yield Report(
                event.node,
                f"{write} writes values that differ from run to run to a tensor that all runs share: torch raises here",
                hint="make the tensor from an argument: `x.new_zeros(...)` or `torch.zeros_like(x)`",
                related=(running,),
            )
            return
        yield Report(
            event.node,
            f"{write} writes to a tensor from outside of the function that is differentiated: torch raises here",
            hint="return the new value, with `has_aux=True` if need be",
            related=(running,) if event.made is None else ((event.made, "the tensor comes from outside"), running),
        )
