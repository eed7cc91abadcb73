"""Forward-mode derivatives: levels, and tangents that fit."""

from __future__ import annotations

from ..pieces import data
from ..program import Program
from .registry import fault, legal


@fault("forward-mode", 2)
def no_level(p: Program) -> None:
    """A dual number is made outside of a level."""
    p.module("forward_ad")
    x = data(p, (3,))
    p.line("dual = fwAD.make_dual({x}, {t}.ones(3))\nprint(dual.exp())", x=x)


@fault("forward-mode", 2)
def tangent_of_another_shape(p: Program) -> None:
    """The tangent has another shape, or another type."""
    p.module("forward_ad")
    x = data(p, (3,))
    tangent = p.text(
        p.pick("{t}.ones(2)", "{t}.ones(3, 1)", "{t}.ones(3, dtype={t}.float64)", "{t}.ones(3, dtype={t}.long)")
    )
    with p.block("with fwAD.dual_level():"):
        p.line("dual = fwAD.make_dual({x}, {v})\nprint(fwAD.unpack_dual(dual.sin()).tangent)", x=x, v=tangent)


@fault("forward-mode")
def nested_levels(p: Program) -> None:
    """Levels do not nest."""
    p.module("forward_ad")
    with p.block("with fwAD.dual_level():"), p.block("with fwAD.dual_level():"):
        p.line("print({t}.ones(2))")


@legal("forward-mode", 3)
def right_dual(p: Program) -> None:
    """A derivative along a direction."""
    p.module("forward_ad")
    x = data(p, (3,))
    with p.block("with fwAD.dual_level():"):
        p.line("dual = fwAD.make_dual({x}, {t}.ones(3))", x=x)
        p.line("out = {e}", e=p.text(p.pick("dual.sin()", "dual * dual", "{t}.exp(dual)", "(dual ** 2).sum()")))
        p.line(p.pick("print(fwAD.unpack_dual(out).tangent)", "value, tangent = fwAD.unpack_dual(out)\nprint(tangent)"))
