"""Custom functions: what backward may return, what may be saved and marked, how they are called."""

from __future__ import annotations

from dataclasses import dataclass

from ..pieces import data, derive, finish, leaf
from ..program import Program, Var
from .registry import fault, legal

NAMES = ("Scale", "Square", "MyOp", "Gate", "Smooth", "Clip", "Swish", "Shift", "Op")


@dataclass(frozen=True)
class Body:
    """The lines of a function of one tensor: its forward, what it saves, and its gradient."""

    forward: str
    saved: str
    gradient: str


BODIES = (
    Body("x * x", "x", "2 * x * grad"),
    Body("x.exp()", "out", "grad * out"),
    Body("{t}.sigmoid(x)", "out", "grad * out * (1 - out)"),
    Body("x.clamp(min=0)", "x", "grad * (x > 0)"),
    Body("{t}.sin(x)", "x", "grad * {t}.cos(x)"),
    Body("x ** 3", "x", "3 * x ** 2 * grad"),
    Body("{t}.tanh(x)", "out", "grad * (1 - out ** 2)"),
)


def _define(
    p: Program,
    *,
    body: Body | None = None,
    saves: str = "{c}.save_for_backward({s})",
    marks: str = "",
    loads: str = "{s}, = {c}.saved_tensors",
    returns: str = "return {g}",
    decorators: tuple[str, str] = ("@staticmethod\n    ", "@staticmethod\n    "),
    forward: str = "out = {f}",
    result: str = "out",
    second: str = "",
) -> str:
    """Define a function of one tensor, or of a number beside it; return its name."""
    name, ctx, body = p.fresh(*NAMES), p.pick("ctx", "ctx", "self_"), body or p.pick(*BODIES)
    names = {"c": ctx, "s": body.saved, "f": p.text(body.forward), "g": p.text(body.gradient)}
    lines = [p.text(line, **names) for line in (forward, saves, marks) if line]
    before = "\n        ".join(line.replace("\n", "\n        ") for line in lines)
    after = "\n        ".join(p.text(line, **names) for line in (loads, returns) if line)
    p.define(
        "class {n}({autograd}.Function):\n"
        "    {d0}def forward({c}, x{k}):\n        {before}\n        return {r}\n\n"
        "    {d1}def backward({c}, grad):\n        {after}",
        n=name,
        c=ctx,
        k=second,
        d0=decorators[0],
        d1=decorators[1],
        before=before,
        after=after,
        r=result,
    )
    return name


def right(p: Program) -> str:
    """Define a function whose gradient is right; return its name."""
    return _define(p)


def function_in_place(p: Program) -> str:
    """Define a function that writes to its argument, and marks and returns it; return its name."""
    return _define(
        p,
        body=Body("x.mul_(2)", "x", "grad * 2"),
        saves="",
        loads="",
        marks="{c}.mark_dirty(x)",
        forward="{f}",
        result="x",
    )


def _apply(p: Program, name: str, x: Var, rest: str = "") -> Var:
    if p.chance(0.3):
        alias = p.let("{n}.apply", "op_fn", "apply_op", "my_op", n=name)
        return p.tensor(x.shape, "{a}({x}{rest})", a=alias, x=x, rest=rest)
    return p.tensor(x.shape, "{n}.apply({x}{rest})", n=name, x=x, rest=rest)


def _used(p: Program, name: str, rest: str = "") -> None:
    w = leaf(p, (3,))
    x = derive(p, w) if p.chance(0.6) else w
    finish(p, _apply(p, name, x, rest))


@fault("custom", 2)
def gradients_miscounted(p: Program) -> None:
    """Backward returns a gradient too few or too many."""
    if p.chance(0.5):
        _used(p, _define(p, returns=p.pick("return {g}, grad", "return ({g}, {g})")))
    else:
        _used(p, _define(p, second=p.pick(", scale", ", k=2", ", flag")), p.pick(", 2", ", 0.5"))


@fault("custom")
def gradient_of_another_shape(p: Program) -> None:
    """Backward returns a gradient of a shape that does not fit."""
    _used(p, _define(p, returns=p.pick("return ({g}).sum(dim=0, keepdim=True)[:, None]", "return ({g})[:2]")))


@fault("custom")
def gradient_is_a_number(p: Program) -> None:
    """Backward returns a number."""
    _used(p, _define(p, returns=p.pick("return ({g}).sum().item()", "return float(({g}).mean())", "return 2.0")))


@fault("custom")
def saves_a_number(p: Program) -> None:
    """A number is saved for backward."""
    _used(
        p,
        _define(
            p,
            body=Body("x * k", "k", "grad * k"),
            saves=p.pick("{c}.save_for_backward(k)", "{c}.save_for_backward(x, k)"),
            loads="*_, k = {c}.saved_tensors",
            returns="return {g}, None",
            second=", k",
        ),
        p.pick(", 2", ", 0.5", ", True"),
    )


@fault("custom")
def no_static_methods(p: Program) -> None:
    """Forward and backward are methods of an instance, as before torch 1.5."""
    name = _define(p, decorators=("", ""))
    w = leaf(p, (3,))
    finish(p, p.tensor(w.shape, "{n}()({w})", n=name, w=w))


@fault("custom")
def attribute_is_missing(p: Program) -> None:
    """Backward reads of the context what forward has not put there."""
    _used(p, _define(p, returns=p.pick("return grad * {c}.factor", "return {g} * {c}.scale")))


@fault("custom", 2)
def written_and_not_returned(p: Program) -> None:
    """Forward marks as dirty what it does not return."""
    _used_in_place(
        p,
        _define(
            p,
            body=Body("x.mul_(2)", "x", "grad * 2"),
            saves="",
            loads="",
            marks="{c}.mark_dirty(x)",
            result=p.pick("out.clone()", "out * 1", "out + 0"),
        ),
    )


def _used_in_place(p: Program, name: str) -> None:
    w = leaf(p, (3,))
    x = p.tensor(w.shape, p.pick("{w} * 2", "{w}.clone()", "{w} + 1", "{w}.exp()"), w=w)
    finish(p, _apply(p, name, x))


@fault("custom")
def dirty_leaf(p: Program) -> None:
    """A function that writes in place is applied to a leaf."""
    finish(p, _apply(p, function_in_place(p), leaf(p, (3,))))


@fault("custom", 2)
def differentiated_twice(p: Program) -> None:
    """Of a backward that is marked as differentiable once, a second derivative is asked for."""
    name = _define(
        p,
        decorators=("@staticmethod\n    ", p.text("@staticmethod\n    @{autograd}.function.once_differentiable\n    ")),
    )
    w = leaf(p, (3,))
    y = _apply(p, name, w)
    p.line(
        "g = {autograd}.grad({y}.sum(), {w}, create_graph=True)[0]\n"
        + p.pick("g.sum().backward()", "(g ** 2).sum().backward()"),
        y=y,
        w=w,
    )


@fault("custom")
def not_differentiable(p: Program) -> None:
    """The result is marked as not differentiable."""
    name = _define(p, body=Body("(x > 0).float()", "x", "grad * x"), marks="{c}.mark_non_differentiable(out)")
    w = leaf(p, (3,))
    p.line("{y}.sum().backward()", y=_apply(p, name, w))


@fault("custom")
def transformed(p: Program) -> None:
    """A transform of torch.func wants setup_context."""
    name = _define(p)
    x = data(p, (3,))
    p.line(
        p.pick("g = {t}.func.grad(lambda v: {n}.apply(v).sum())({x})", "g = {t}.func.vmap({n}.apply)({x})"), n=name, x=x
    )


@legal("custom", 3)
def right_function(p: Program) -> None:
    """A function as it should be."""
    _used(p, right(p))


@legal("custom", 2)
def right_function_of_a_number(p: Program) -> None:
    """The number is kept on the context, and has no gradient."""
    name = _define(
        p,
        body=Body("x * k", "x", "grad * ctx.k"),
        saves="{c}.k = k",
        loads="",
        returns=p.pick("return grad * {c}.k, None", "return (grad * {c}.k, None)"),
        second=p.pick(", k", ", k=2"),
    )
    _used(p, name, p.pick(", 2", ", 0.5"))


@legal("custom", 2)
def right_function_in_place(p: Program) -> None:
    """What is written in place is marked, and returned."""
    _used_in_place(p, function_in_place(p))


@legal("custom")
def right_second_derivative(p: Program) -> None:
    """A backward of differentiable operations is differentiated."""
    name = _define(p, body=p.pick(*BODIES[:2], BODIES[4]))
    w = leaf(p, (3,))
    y = _apply(p, name, w)
    p.line("g = {autograd}.grad({y}.sum(), {w}, create_graph=True)[0]\n(g ** 2).sum().backward()", y=y, w=w)


@legal("custom")
def right_transformed(p: Program) -> None:
    """A function with setup_context is transformed."""
    name = p.fresh(*NAMES)
    p.define(
        "class {n}({autograd}.Function):\n"
        "    generate_vmap_rule = True\n\n"
        "    @staticmethod\n    def forward(x):\n        return x.exp()\n\n"
        "    @staticmethod\n    def setup_context(ctx, inputs, output):\n        ctx.save_for_backward(output)\n\n"
        "    @staticmethod\n    def backward(ctx, grad):\n        out, = ctx.saved_tensors\n        return grad * out",
        n=name,
    )
    x = data(p, (3,))
    p.line(
        p.pick(
            "g = {t}.func.grad(lambda v: {n}.apply(v).sum())({x})", "g = {t}.func.vmap({n}.apply)({x})\nprint(g.shape)"
        ),
        n=name,
        x=x,
    )


@legal("custom")
def straight_through(p: Program) -> None:
    """A rounding whose gradient is passed on as it is."""
    body = Body(p.pick("x.round()", "x.sign()", "(x > 0.5).float()"), "x", "grad")
    _used(p, _define(p, body=body, saves="", loads="", returns=p.pick("return grad", "return grad.clone()")))
