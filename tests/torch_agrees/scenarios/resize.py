"""resize_ on tensors that require gradients."""

from __future__ import annotations

from ..pieces import data, derive, finish, leaf
from ..program import Program
from .registry import fault, legal


@fault("resize", 3)
def resized(p: Program) -> None:
    """resize_ on a tensor that requires a gradient."""
    x = leaf(p) if p.chance(0.6) else derive(p, leaf(p))
    statement = p.text(
        p.pick(
            "{x}.resize_(2)",
            "{x}.resize_(2, 2)",
            "{x}.resize_((1, 3))",
            "{x}.resize_as_({t}.zeros(2))",
            "{x}.resize_({n}, 2)",
            "{x}.resize_([3])",
        ),
        x=x,
        n=x.numel,
    )
    with p.blocks(p.pick((), (), (p.text("with {t}.no_grad():"),))):
        p.line(statement)
    finish(p, x)


@fault("resize")
def resized_parameter(p: Program) -> None:
    """The weight of a layer is resized to grow it."""
    m = p.let("{nn}.Linear(3, 2)", "fc", "layer", "head")
    name = p.fresh("grow", "expand_layer", "widen")
    p.define(
        "def {f}(layer, n):\n    {w}\n    return layer",
        f=name,
        w=p.pick(
            "layer.weight.resize_(n, 3)",
            "with {t}.no_grad():\n        layer.weight.resize_(n, 3)".replace("{t}", p.module("t")),
            "layer.bias.resize_(n)",
            "for q in layer.parameters():\n        q.resize_(n)",
        ),
    )
    p.line("{f}({m}, 4)", f=name, m=m)


@legal("resize", 2)
def resized_plain(p: Program) -> None:
    """resize_ of a plain buffer."""
    x = data(p)
    p.line(
        p.pick("{x}.resize_(2)", "{x}.resize_as_({t}.zeros(2))", "{x}.resize_(1, 2)", "{x}.resize_((2,))"),
        x=x,
    )
    finish(p, derive(p, leaf(p)))


@legal("resize")
def reshaped(p: Program) -> None:
    """reshape and view instead of resize_."""
    w = leaf(p)
    finish(
        p,
        p.tensor(
            (w.numel,),
            p.pick("{w}.reshape(-1)", "{w}.view(-1)", "{w}.reshape({n})", "{w}.view({n})"),
            w=w,
            n=w.numel,
        ),
    )


@legal("resize")
def resized_copy(p: Program) -> None:
    """A detached copy is resized."""
    w = leaf(p)
    c = p.let(p.pick("{w}.detach().clone()", "{w}.data.clone()", "{t}.empty(0)"), "c", "buf", "snapshot", w=w)
    p.line(p.pick("{c}.resize_(2)", "{c}.resize_(1, 2)"), c=c)
    finish(p, derive(p, w))
