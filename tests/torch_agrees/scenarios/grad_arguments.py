"""Arguments of `autograd.grad` and `backward`."""

from __future__ import annotations

from ..pieces import derive, leaf
from ..program import Program
from .registry import fault, legal


@fault("grad-arguments", 2)
def gradients_for_roots(p: Program) -> None:
    """There are more roots than gradients, or fewer."""
    w = leaf(p, (3,))
    y, z = derive(p, w), derive(p, w)
    p.line(
        p.pick(
            "g = {autograd}.grad([{y}, {z}], [{w}], grad_outputs=[{t}.ones_like({y})])",
            "{autograd}.backward([{y}, {z}], [{t}.ones_like({y})])",
        ),
        y=y,
        z=z,
        w=w,
    )


@fault("grad-arguments")
def no_inputs(p: Program) -> None:
    """No inputs are given."""
    w = leaf(p, (3,))
    y = derive(p, w)
    p.line(
        p.pick(
            "g = {autograd}.grad({y}.sum(), [])", "{y}.sum().backward(inputs=[])", "g = {autograd}.grad({y}.sum(), ())"
        ),
        y=y,
    )


@fault("grad-arguments")
def batch_of_gradients(p: Program) -> None:
    """A batch of gradients has a dimension before those of the root."""
    w = leaf(p, (3,))
    y = derive(p, w)
    p.line(
        "g, = {autograd}.grad({y}, {w}, grad_outputs={g}, is_grads_batched=True)",
        y=y,
        w=w,
        g=p.text(p.pick("{t}.ones(3)", "{t}.eye(2)", "{t}.ones(2, 3, 1)")),
    )


@legal("grad-arguments", 2)
def right_roots(p: Program) -> None:
    """A gradient for each root that is no number."""
    w = leaf(p, (3,))
    y, z = derive(p, w), derive(p, w)
    p.line(
        p.pick(
            "g = {autograd}.grad([{y}, {z}.sum()], [{w}], grad_outputs=[{t}.ones_like({y}), None])",
            "{autograd}.backward([{y}, {z}], [{t}.ones_like({y}), {t}.ones_like({z})])",
            "g = {autograd}.grad(({y}.sum(), {z}.sum()), {w})",
        ),
        y=y,
        z=z,
        w=w,
    )


@legal("grad-arguments")
def right_inputs(p: Program) -> None:
    """The inputs are those that are used."""
    w, u = leaf(p, (3,)), leaf(p, (3,))
    y = derive(p, w)
    p.line(
        p.pick(
            "{y}.sum().backward(inputs=[{w}])",
            "gs = {autograd}.grad({y}.sum(), [{w}, {u}], allow_unused=True)\nprint(gs[1] is None)",
            "gs = {autograd}.grad({y}.sum(), {w}, materialize_grads=True)\nprint(gs[0].sum())",
        ),
        y=y,
        w=w,
        u=u,
    )
