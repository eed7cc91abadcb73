"""Results written through out=."""

from __future__ import annotations

from ..catalogue import SAVING_NOTHING
from ..pieces import apply, data, derive, finish, leaf, no_grad, view
from ..program import Program, Var
from .registry import fault, legal

OUT = (
    "{t}.add({w}, 1, out={b})",
    "{t}.mul({w}, 2, out={b})",
    "{t}.exp({w}, out={b})",
    "{t}.sub({w}, {x}, out={b})",
    "{t}.tanh({w}, out={b})",
    "{t}.sigmoid({w}, out={b})",
    "{t}.mul({x}, {w}, out={b})",
    "{t}.clamp({w}, -1, 1, out={b})",
    "{t}.pow({w}, 2, out={b})",
    "{t}.maximum({w}, {x}, out={b})",
    "{t}.div({w}, 2, out={b})",
    "{t}.add({x}, {w}, alpha=2, out={b})",
    "{t}.sin({w}, out={b})",
    "{t}.abs({w}, out={b})",
    "{t}.neg({w}, out={b})",
    "{t}.sqrt({w} * {w} + 1, out={b})",
    "{t}.where({x} > 0, {w}, {x}, out={b})",
    "{t}.lerp({w}, {x}, 0.5, out={b})",
    "{t}.cumsum({w}, 0, out={b})",
    "{t}.addcmul({w}, {x}, {x}, out={b})",
)


def _out_parts(p: Program) -> tuple[Var, Var, Var]:
    w = leaf(p) if p.chance(0.6) else derive(p, leaf(p))
    x = data(p, w.shape)
    return (
        w,
        x,
        p.tensor(
            w.shape,
            p.pick("{t}.empty_like({w})", "{t}.zeros({s})", "{t}.empty({s})", "{t}.zeros_like({x})"),
            "buf",
            "out_",
            "result",
            "dest",
            w=x,
            x=x,
            s=", ".join(map(str, w.shape)),
        ),
    )


@fault("out-grad", 3)
def result_into_buffer(p: Program) -> None:
    """An operation on a tracked tensor writes its result into a buffer."""
    w, x, b = _out_parts(p)
    p.line(p.pick(*OUT), w=w, x=x, b=b)
    finish(p, derive(p, w), b)


@fault("out-grad")
def product_into_buffer(p: Program) -> None:
    """A matrix product or a reduction writes into a buffer."""
    w, x = leaf(p, (4, 3)), data(p, (2, 4))
    b = p.let(p.pick("{t}.empty(2, 3)", "{t}.zeros(2, 3)"), "buf", "result", "dest")
    p.line(
        p.pick(
            "{t}.mm({x}, {w}, out={b})",
            "{t}.matmul({x}, {w}, out={b})",
            "{t}.cat([{w}, {w}], out={b})",
            "{t}.stack([{w}[0], {w}[1]], out={b})",
            "{t}.sum({w}, dim=0, out={b})",
            "{t}.mean({w}, 0, out={b})",
            "{t}.bmm({x}[None], {w}[None], out={b})",
            "{t}.addmm({t}.zeros(2, 3), {x}, {w}, out={b})",
        ),
        x=x,
        w=w,
        b=b,
    )
    p.line("{b}.sum().backward()", b=b)


@fault("out-grad")
def out_in_helper(p: Program) -> None:
    """A helper with a workspace is called with a parameter."""
    name = p.fresh("fused", "affine", "apply_into", "compute")
    p.define(
        ("def {f}(w, x, buf=None):\n    if buf is None:\n        buf = {t}.empty_like(x)\n    {o}\n    return buf"),
        f=name,
        o=p.text(p.pick(*OUT), w="w", x="x", b="buf"),
    )
    w = leaf(p)
    x = data(p, w.shape)
    finish(
        p,
        p.tensor(w.shape, p.pick("{f}({w}, {x})", "{f}({w}, {x}, buf={t}.zeros_like({x}))"), f=name, w=w, x=x),
    )


@fault("out-grad")
def out_is_a_leaf(p: Program) -> None:
    """The destination itself requires a gradient."""
    w, x = leaf(p, (3,)), data(p, (3,))
    p.line(
        p.pick(
            "{t}.add({x}, 1, out={w})",
            "{t}.mul({x}, 2, out={w})",
            "{t}.randn(3, out={w})",
            "{t}.exp({x}, out={w})",
            "{t}.zeros(3, out={w})",
        ),
        x=x,
        w=w,
    )
    finish(p, w)


@legal("out-grad", 3)
def out_under_no_grad(p: Program) -> None:
    """The same call under no_grad."""
    w, x, b = _out_parts(p)
    with no_grad(p):
        p.line(p.pick(*OUT), w=w, x=x, b=b)
    finish(p, derive(p, w))


@legal("out-grad", 2)
def out_of_plain(p: Program) -> None:
    """No argument requires a gradient."""
    x, y = data(p, (4, 3)), data(p, (4, 3))
    b = p.tensor((4, 3), "{t}.empty(4, 3)", "buf", "dest")
    p.line(p.pick(*OUT), w=x, x=y, b=b)
    finish(p, p.tensor((4, 3), p.pick("{w} * {b}", "{w} + {b}"), w=leaf(p, (4, 3)), b=b))


@legal("out-grad", 2)
def out_of_detached(p: Program) -> None:
    """The argument is detached."""
    w, x, b = _out_parts(p)
    p.line(p.pick(*OUT), w=p.pick(f"{w}.detach()", f"{w}.data"), x=x, b=b)
    finish(p, derive(p, w))


@legal("out-grad")
def result_copied_into_buffer(p: Program) -> None:
    """The result is copied or assigned into a buffer instead."""
    w, x, b = _out_parts(p)
    y = apply(p, w, SAVING_NOTHING)
    p.line(p.pick("{b}.copy_({y})", "{b}[:] = {y}", "{b} = {y}"), b=b, y=y)
    if p.chance(0.3):
        view(p, x)
    finish(p, b)
