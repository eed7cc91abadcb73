"""Checkpoints: what each of the two kinds refuses."""

from __future__ import annotations

from ..networks import Model, batch, model
from ..pieces import finish, leaf
from ..program import Program
from .registry import fault, legal

CALLS = ("{t}.utils.checkpoint.checkpoint", "{t}.utils.checkpoint.checkpoint", "checkpoint")


def checkpoint_name(p: Program) -> str:
    """Import the function, and return what the program calls it."""
    name = p.text(p.pick(*CALLS))
    if name == "checkpoint":
        p.module("checkpoint")
    else:
        p.module("checkpoint_module")
    return name


@fault("checkpoint", 2)
def inputs_without_grad(p: Program) -> None:
    """A reentrant checkpoint of inputs that require no gradient has none."""
    m = model(p)
    y = p.tensor((3, 2), "{c}({m}, {x}, use_reentrant=True)", c=checkpoint_name(p), m=m, x=batch(p, 4))
    p.line("{y}.sum().backward()", y=y)


@fault("checkpoint")
def keywords_to_reentrant(p: Program) -> None:
    """A reentrant checkpoint passes no keywords on."""
    name = p.fresh("block", "run_block", "segment")
    p.define("def {n}(x, scale=1.0):\n    return (x * scale).tanh()", n=name)
    w = leaf(p, (3,))
    finish(p, p.tensor((3,), "{c}({n}, {w}, use_reentrant=True, scale=2.0)", c=checkpoint_name(p), n=name, w=w))


@fault("checkpoint", 2)
def grad_through_reentrant(p: Program) -> None:
    """`autograd.grad` does not go through a reentrant checkpoint."""
    w = leaf(p, (3,))
    y = p.tensor(
        (3,),
        "{c}({t}.{f}, {w}, use_reentrant=True)",
        c=checkpoint_name(p),
        w=w,
        f=p.pick("tanh", "exp", "sigmoid", "sin"),
    )
    p.line(
        p.pick(
            "g, = {autograd}.grad({y}.sum(), {w})",
            "g = {autograd}.grad({y}.pow(2).sum(), [{w}])",
            "{y}.sum().backward(inputs=[{w}])",
        ),
        y=y,
        w=w,
    )


def _checkpointed(p: Program, m: Model, options: str) -> None:
    x = batch(p, 4)
    if "True" in options or p.chance(0.3):
        p.line("{x}.requires_grad_()", x=x)
    y = p.tensor((3, 2), "{c}({m}, {x}, {o})", c=checkpoint_name(p), m=m, x=x, o=options)
    p.line("{y}.pow(2).mean().backward()", y=y)


@legal("checkpoint", 3)
def right_checkpoint(p: Program) -> None:
    """A checkpoint of either kind, as it should be."""
    _checkpointed(p, model(p), p.pick("use_reentrant=False", "use_reentrant=False", "use_reentrant=True"))


@legal("checkpoint")
def right_grad(p: Program) -> None:
    """`autograd.grad` goes through the other kind, and keywords, too."""
    name = p.fresh("block", "run_block", "segment")
    p.define("def {n}(x, scale=1.0):\n    return (x * scale).tanh()", n=name)
    w = leaf(p, (3,))
    y = p.tensor((3,), "{c}({n}, {w}, use_reentrant=False, scale=2.0)", c=checkpoint_name(p), n=name, w=w)
    p.line("g, = {autograd}.grad({y}.sum(), {w})\nprint(g)", y=y, w=w)
