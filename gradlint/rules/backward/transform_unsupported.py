"""GRD225: a function below a transform of torch.func does what no transform supports."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.refusal import transform as refusal
from gradlint.rules.authoring.repairs import code, with_argument
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule, Statement

_WHAT: dict[refusal.Unsupported, str] = {
    "method": "`{op}()` is called in a function that is transformed",
    "function": "`{op}` is called in a function that is transformed",
    "branch": "a branch depends on values that differ from run to run",
    "number": "a Python number is made of values that differ from run to run",
    "list": "a list of numbers is made of values that differ from run to run",
    "array": "an array is made of values that differ from run to run",
    "data": "`.data` is taken of values that differ from run to run",
    "mask": "a mask that differs from run to run selects another number of elements in each",
    "size": "`{op}` gives a result whose size or value depends on values that differ from run to run",
    "random": "random numbers are drawn below `vmap`",
    "batch-norm": "batch norm moves the running statistics, which all runs share, with values that differ",
    "no-setup-context": "the custom function `{op}` has no `setup_context`, which transforms need",
    "no-vmap-rule": "the custom function `{op}` has no rule for `vmap`",
}

_INSTEAD: dict[refusal.Unsupported, str] = {
    "branch": "select with `torch.where`, which computes both ways",
    "number": "go on with the tensor, of one element",
    "data": "use `.detach()`",
    "batch-norm": "use group norm or layer norm, or call the layer in evaluation",
    "mask": "multiply with the mask, or select with `torch.where`",
    "random": 'say `randomness="different"` or `randomness="same"`, or draw the numbers outside',
}


class TransformUnsupported(Rule):
    """A function that `torch.func` differentiates or maps does what the transform does not support.

    What torch does
        It raises. Below any transform: `backward()`, `requires_grad_()`, `retain_grad()`, the functions of
        `torch.autograd.functional`, and custom functions whose `forward` takes a `ctx` instead of going with
        a `setup_context`. Below `vmap` also what needs the values of one run: an `if` on a tensor, `item()`,
        `float()`, `tolist()`, `numpy()`, `.data`, masks and other operations whose result has a size that
        depends on the values, custom functions without a rule for it, and random numbers unless
        `randomness` says how.

    Why it matters
        A transform runs the function once, for all inputs at the same time, with its own book-keeping of
        gradients. Code that was written for one input and for `backward` often does not survive it.

    When it may be wrong
        Where the line is never reached.

    Instead
        Leave gradients to the transform. Below `vmap`, select with `torch.where` rather than `if`, multiply
        with a mask rather than index with it, and give `randomness`. For custom functions, write
        `setup_context`, and set `generate_vmap_rule = True`.

    References
        https://docs.pytorch.org/docs/stable/func.ux_limitations.html
        https://docs.pytorch.org/docs/stable/notes/extending.func.html
    """

    code = "GRD225"
    name = "transform-unsupported"
    effect = "raises"
    fix = "safe or unsafe"
    events = (refusal.TransformUnsupported,)
    torch_says = (
        r"vmap|functorch|Batching rule not implemented|setup_context|Cannot access data pointer|Can't detach views"
    )
    bad = (
        Bad(
            """\
import torch


def clipped(x):
    if x.norm() > 1:  # GRD225
        return x / x.norm()
    return x


torch.vmap(clipped)(torch.randn(4, 3))
""",
            error="data-dependent control flow",
        ),
        Bad(
            """\
import torch
from torch.func import grad


def loss(w):
    w.requires_grad_()  # GRD225
    return (w ** 2).sum()


grad(loss)(torch.randn(3))
""",
            error="attempting to call Tensor.requires_grad_",
        ),
        Bad(
            """\
import torch
import torch.nn.functional as F


def noisy(x):
    return F.dropout(x, 0.1)  # GRD225


torch.vmap(noisy)(torch.randn(4, 3))
""",
            error="randomness error mode",
        ),
        Bad(
            """\
import torch


class Cube(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x ** 3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x ** 2 * grad


def loss(x):
    return Cube.apply(x).sum()  # GRD225


torch.func.grad(loss)(torch.randn(3))
""",
            error="setup_context",
        ),
        Bad(
            """\
import torch


def normed(x):
    return x / x.data.norm()  # GRD225


torch.vmap(normed)(torch.randn(4, 3))
""",
            error="vmap|data",
        ),
        Bad(
            """\
import torch
from torch.func import jacrev


def scaled(x):
    y = (x * 2).requires_grad_()  # GRD225
    return y.sin()


jacrev(scaled)(torch.randn(3))
""",
            error="requires_grad_",
        ),
        Bad(
            """\
import torch


def shifted(x, offset):
    return x - x.mean().item() * offset  # GRD225


torch.vmap(shifted, in_dims=(0, None))(torch.randn(4, 3), 2.0)
""",
            error="vmap",
        ),
    )
    good = (
        Good(
            """\
import torch


def clipped(x):
    return torch.where(x.norm() > 1, x / x.norm(), x)


result = torch.vmap(clipped)(torch.randn(4, 3))
""",
            shows="result.shape == (4, 3)",
        ),
        Good(
            """\
import torch
import torch.nn.functional as F


def noisy(x):
    return F.dropout(x, 0.1)


result = torch.vmap(noisy, randomness="different")(torch.randn(4, 3))
""",
            shows="result.shape == (4, 3)",
        ),
        Good(
            """\
import torch


class Cube(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x ** 3

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return 3 * x ** 2 * grad


result = torch.vmap(torch.func.grad(lambda x: Cube.apply(x).sum()))(torch.randn(4, 3))
""",
            shows="result.shape == (4, 3)",
        ),
        Good(
            """\
import torch
from torch.func import grad, vmap


def loss(w, x, y):
    return (w * x - y) ** 2


gradients = vmap(grad(loss), in_dims=(None, 0, 0))(torch.tensor(1.0), torch.randn(5), torch.randn(5))
""",
            shows="gradients.shape == (5,)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """What a transform that is under way refuses."""
        assert isinstance(event, refusal.TransformUnsupported)
        yield Report(
            event.node,
            f"{_WHAT[event.reason].format(op=event.op)}: torch raises here",
            hint=_INSTEAD.get(event.reason),
            related=((event.transform, f"`{event.by}` runs the function here"),),
            repair=_repair(event),
        )


def _repair(event: refusal.TransformUnsupported) -> Repair | None:
    """What the transform does itself goes, and so does what makes a number; random numbers differ from run to run."""
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
        return Repair("leave it to the transform", (Statement(node, "", tensor),), safe=True)
    return None


def _randomised(called: cst.CSTNode) -> Repair | None:
    """`vmap(f)(x)` with random numbers that differ."""
    made = called.func if isinstance(called, cst.Call) else None
    return None if made is None else with_argument(made, 'randomness="different"', safe=False)
