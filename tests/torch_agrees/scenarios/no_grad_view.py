"""Views made under no_grad and written outside."""

from __future__ import annotations

from ..deliver import write
from ..pieces import data, derive, finish, fresh_result, leaf, no_grad, view, writing
from ..program import Program
from .registry import fault, legal


@fault("no-grad-view", 3)
def view_from_no_grad(p: Program) -> None:
    """A view made under no_grad is written outside."""
    y = leaf(p) if p.chance(0.5) else derive(p, leaf(p))
    base = y if p.chance(0.7) else p.tensor(y.shape, "{t}.zeros_like({y})", "buf", "state", y=y)
    with no_grad(p):
        v = view(p, base)
        if p.chance(0.3):
            p.line("{w}", w=writing(p, v))
    if base is y:
        write(p, v)
    else:
        p.line(p.pick("{v}.mul_({y}.sum())", "{v} += {y}.mean()", "{v}.copy_({y}.mean())"), v=v, y=y)
    finish(p, y)


@fault("no-grad-view")
def view_from_decorated_helper(p: Program) -> None:
    """A helper under no_grad returns a view, the caller writes it."""
    name = p.fresh("first_row", "flatten", "get_row", "head_of", "select_part")
    p.define(
        "@{t}.no_grad()\ndef {f}(t):\n    return {e}",
        f=name,
        e=p.pick("t[0]", "t.view(-1)", "t.flatten()", "t[:2]", "t.unsqueeze(0)"),
    )
    y = leaf(p) if p.chance(0.5) else fresh_result(p, leaf(p))
    v = p.let("{f}({y})", "v", "row", "part", f=name, y=y)
    p.line(p.pick("{v}.add_(1)", "{v} *= 2", "{v}.zero_()", "{v} += 0.5", "{v}.fill_(0)"), v=v)
    finish(p, y)


@fault("no-grad-view")
def parts_from_no_grad(p: Program) -> None:
    """Parts of a parameter are taken under no_grad and written outside."""
    m = p.let("{nn}.Linear(4, 4)", "fc", "layer", "m")
    with no_grad(p):
        v = p.let(
            p.pick(
                "{m}.weight[0]",
                "{m}.weight.view(-1)",
                "{m}.weight.t()",
                "{m}.bias[:2]",
                "{m}.weight.chunk(2)[0]",
            ),
            "row",
            "v",
            "part",
            m=m,
        )
    p.line(p.pick("{v}.add_(1)", "{v} *= 0.5", "{v}.zero_()", "{v}[0] = 1"), v=v)


@legal("no-grad-view", 2)
def view_and_write_under_no_grad(p: Program) -> None:
    """View and write both stand under no_grad, in one block or two."""
    y = leaf(p)
    finish(p, derive(p, y))
    with no_grad(p):
        v = view(p, y)
        write(p, v)
    if p.chance(0.5):
        with no_grad(p):
            write(p, v)
    finish(p, derive(p, y))


@legal("no-grad-view")
def view_of_plain_from_no_grad(p: Program) -> None:
    """A view of a plain tensor made under no_grad may be written with plain values."""
    x = data(p)
    with no_grad(p):
        v = view(p, x)
    write(p, v)
    finish(p, p.tensor(x.shape, "{w} * {x}", w=leaf(p, x.shape), x=x))


@legal("no-grad-view")
def copy_from_no_grad(p: Program) -> None:
    """What comes from no_grad is a copy or is detached."""
    y = fresh_result(p, leaf(p))
    with no_grad(p):
        v = p.let(
            p.pick("{y}.clone()", "{y} * 2", "{y}[0].clone()", "{y}.view(-1) + 1", "{y}.exp()"),
            "v",
            "row",
            y=y,
        )
    p.line(p.pick("{v}.add_(1)", "{v} *= 2", "{v}.zero_()"), v=v)
    finish(p, y)


@legal("no-grad-view")
def view_read_outside(p: Program) -> None:
    """A view made under no_grad is only read outside."""
    w = leaf(p)
    with no_grad(p):
        v = view(p, w)
    p.line(p.pick("print({v}.sum().item())", "print({v}.shape)", "shown = {v}.detach() + 1"), v=v)
    finish(p, derive(p, w))
