"""Transforms of torch.func, and derivatives of torch.autograd.functional."""

from __future__ import annotations

from ..pieces import data, leaf
from ..program import Program, Var
from .registry import fault, legal


def _function(p: Program, result: str) -> str:
    if p.chance(0.4):
        return p.text("lambda v: {r}", r=p.text(result))
    name = p.fresh("f", "objective_fn", "energy", "fun")
    p.define("def {n}(v):\n    return {r}", n=name, r=p.text(result))
    return name


SCALARS = ("(v ** 2).sum()", "v.exp().mean()", "v.sin().sum()", "(v * v).mean()", "v.norm()")
VECTORS = ("v ** 2", "v.exp()", "{t}.sin(v)", "v * 2", "v.cumsum(0)")


def _input(p: Program) -> Var:
    return leaf(p, (3,)) if p.chance(0.3) else data(p, (3,))


@fault("transform", 2)
def grad_of_a_vector(p: Program) -> None:
    """The gradient of what has more than one element."""
    p.line(
        "g = {t}.func.{g}({f})({x})", f=_function(p, p.pick(*VECTORS)), x=_input(p), g=p.pick("grad", "grad_and_value")
    )


@fault("transform")
def number_under_vmap(p: Program) -> None:
    """Under vmap no tensor becomes a number."""
    result = p.pick("v * v.item()", "v if v > 0 else -v", "v * float(v)", "v + int(v)")
    p.line("ys = {t}.func.vmap({f})({x})", f=_function(p, result), x=_input(p))


@fault("transform")
def dimension_to_map(p: Program) -> None:
    """The dimension is not there, or the inputs have several sizes."""
    if p.chance(0.5):
        p.line("ys = {t}.func.vmap({t}.sin, in_dims={d})({x})", d=p.pick(1, 2, -2), x=_input(p))
    else:
        p.line("ys = {t}.func.vmap({t}.add)({x}, {y})", x=_input(p), y=data(p, (2,)))


@fault("transform")
def strict(p: Program) -> None:
    """With strict the result must depend on the inputs."""
    result = p.pick("{t}.zeros(3)", "{t}.ones(3) * 2", "v.detach() * 2")
    p.line("j = {autograd}.functional.jacobian({f}, {x}, strict=True)", f=_function(p, result), x=_input(p))


@fault("transform")
def missing_vector(p: Program) -> None:
    """Of several results a vector is needed."""
    p.line("out, g = {autograd}.functional.vjp({f}, {x})", f=_function(p, p.pick(*VECTORS)), x=_input(p))


@legal("transform", 3)
def right_grad(p: Program) -> None:
    """The gradient of a number."""
    p.line(
        "g = {t}.func.{g}({f})({x})\nprint(g)",
        f=_function(p, p.pick(*SCALARS)),
        x=_input(p),
        g=p.pick("grad", "grad_and_value", "hessian", "jacrev"),
    )


@legal("transform", 2)
def right_map(p: Program) -> None:
    """A function of one row is mapped."""
    p.line(
        "ys = {t}.func.vmap({f})({x})\nprint(ys.shape)",
        f=_function(p, p.pick("v ** 2", "v.sin()", "{t}.where(v > 0, v, -v)")),
        x=_input(p),
    )


@legal("transform", 2)
def right_functional(p: Program) -> None:
    """Derivatives of functions that depend on their inputs."""
    p.line(
        p.pick(
            "j = {autograd}.functional.jacobian({f}, {x}, strict=True)",
            "out, g = {autograd}.functional.vjp({f}, {x}, {t}.ones(3))",
            "out, g = {autograd}.functional.jvp({f}, {x}, {t}.ones(3))",
        ),
        f=_function(p, p.pick(*VECTORS)),
        x=_input(p),
    )
