"""Expanded tensors, whose elements share memory."""

from __future__ import annotations

from ..catalogue import SAVING_NOTHING
from ..deliver import write
from ..pieces import apply, data, derive, finish, leaf
from ..program import Program
from .registry import fault, legal

EXPANSIONS = (
    "{x}.expand(4, 3)",
    "{x}.expand(4, -1)",
    "{t}.broadcast_to({x}, (4, 3))",
    "{x}.expand_as({t}.empty(4, 3))",
    "{x}.broadcast_to(4, 3)",
    "{t}.broadcast_tensors({x}, {t}.empty(4, 1))[0]",
    "{x}.unsqueeze(0).expand(4, 3)",
)


COPIES = (
    "{x}.expand(4, 3).clone()",
    "{x}.repeat(4, 1)",
    "{x}.expand(4, 3) + 0",
    "{x}.expand(4, 3).contiguous()",
    "{t}.stack([{x}] * 4)",
    "{x}.tile(4, 1)",
    "{t}.zeros(4, 3) + {x}",
)


OVERLAP_WRITES = (
    "{e}.add_(1)",
    "{e} += 1",
    "{e} *= 2",
    "{e}.mul_(0.5)",
    "{e}[0] = 0",
    "{e}[:, 0] = 1",
    "{e}[:2] = 0",
    "{e}.zero_()",
    "{e}.fill_(0.1)",
    "{e}.copy_({t}.zeros(4, 3))",
    "{e} -= {t}.ones(4, 3)",
    "{e}.clamp_(min=0)",
    "{e}[{e} > 0] = 0",
    "{e}.masked_fill_({e} > 0, 0.0)",
    "{e}[1, 2] = 5",
    "{e}.neg_()",
)


@fault("overlap", 3)
def written_expansion(p: Program) -> None:
    """A tensor from expand is written."""
    x = data(p, (3,)) if p.chance(0.6) else apply(p, leaf(p, (3,)), SAVING_NOTHING)
    e = p.tensor((4, 3), p.pick(*EXPANSIONS), "e", "grid", "tiled", "bias", "big", "expanded", x=x)
    if p.chance(0.4):
        write(p, e)
    else:
        p.line(p.pick(*OVERLAP_WRITES), e=e)
    finish(p, derive(p, leaf(p, (4, 3))), e)


@fault("overlap")
def expansion_in_helper(p: Program) -> None:
    """A helper expands its argument and writes into it."""
    name = p.fresh("make_mask", "tile", "build", "positions", "broadcast")
    p.define(
        "def {f}(x, n=4):\n    out = {e}\n    {w}\n    return out",
        f=name,
        e=p.pick("x.expand(n, -1)", "x.unsqueeze(0).expand(n, 3)", "x[None].expand(n, x.shape[0])"),
        w=p.pick("out[0] = 0", "out += 1", "out.mul_(2)", "out[:, 0] = 1.0"),
    )
    x = data(p, (3,))
    y = p.tensor((4, 3), "{f}({x})", "m", "table", f=name, x=x)
    finish(p, p.tensor((4, 3), "{w} * {y}", w=leaf(p, (4, 3)), y=y))


@legal("overlap", 3)
def written_copy_of_expansion(p: Program) -> None:
    """A copy of the expansion is written."""
    x = data(p, (3,)) if p.chance(0.5) else apply(p, leaf(p, (3,)), SAVING_NOTHING)
    e = p.tensor((4, 3), p.pick(*COPIES), "e", "grid", "tiled", "bias", "big", x=x)
    p.line(p.pick(*OVERLAP_WRITES), e=e)
    finish(p, e, leaf(p, (4,)))


@legal("overlap")
def expansion_read(p: Program) -> None:
    """The expansion is only read; the plain tensor below it is written before."""
    x = data(p, (3,))
    write(p, x)
    e = p.tensor((4, 3), p.pick(*EXPANSIONS), "e", "grid", "tiled", x=x)
    finish(p, p.tensor((4, 3), p.pick("{w} * {e}", "{w} + {e}"), w=leaf(p, (4, 3)), e=e))


@legal("overlap")
def expansion_to_same_size(p: Program) -> None:
    """An expansion that expands nothing overlaps nothing."""
    y = apply(p, leaf(p, (4, 3)), SAVING_NOTHING)
    e = p.tensor((4, 3), p.pick("{y}.expand(4, 3)", "{y}.expand(-1, -1)", "{y}.expand_as({y})"), "e", "same", y=y)
    p.line(p.pick("{e}.add_(1)", "{e}[0] = 0", "{e} *= 2"), e=e)
    finish(p, y)
