"""Writes into views and elements of leaves."""

from __future__ import annotations

from ..deliver import write
from ..networks import optimizer
from ..pieces import (
    backward,
    derive,
    finish,
    fresh_result,
    leaf,
    loss,
    no_grad,
    scalar,
    view,
)
from ..program import Program
from .registry import fault, legal


@fault("leaf-view-inplace", 3)
def written_view_of_leaf(p: Program) -> None:
    """A view of a leaf is written."""
    w = leaf(p)
    v = view(p, w)
    write(p, v)
    finish(p, w)


ITEMS = (
    "{w}[0] = 0",
    "{w}[0] = 1.0",
    "{w}[1:] = 0.5",
    "{w}[0] += 1",
    "{w}[{w} > 0] = 0",
    "{w}[-1] *= 2",
    "{w}[...] = 0",
    "{w}[:2] = 1",
    "{w}[[0, 1]] = 0.1",
    "{w}[0].zero_()",
    "{w}[:1].mul_(0)",
)


@fault("leaf-view-inplace", 2)
def item_of_leaf(p: Program) -> None:
    """An element of a leaf is assigned."""
    w = leaf(p)
    if p.chance(0.4):
        finish(p, derive(p, w))
    p.line(p.pick(*ITEMS), w=w)
    finish(p, derive(p, w))


@fault("leaf-view-inplace")
def filled_leaf_buffer(p: Program) -> None:
    """A buffer made with requires_grad=True is filled row by row."""
    x = leaf(p, (3,))
    buffer = p.tensor(
        (4, 3),
        p.pick(
            "{t}.zeros(4, 3, requires_grad=True)",
            "{t}.empty(4, 3, requires_grad=True)",
            "{nn}.Parameter({t}.zeros(4, 3))",
        ),
        "out",
        "buffer",
        "result",
        "table",
    )
    with p.block(p.pick("for i in range(4):", "for i in range({b}.shape[0]):", "for i in range(len({b})):"), b=buffer):
        p.line(
            p.pick("{b}[i] = {x} * i", "{b}[i] += {x}", "{b}[i].copy_({x})", "{b}[i, :] = {x} + 1"),
            b=buffer,
            x=x,
        )
    finish(p, buffer)


@fault("leaf-view-inplace")
def item_of_parameter(p: Program) -> None:
    """A row of a module's weight is overwritten."""
    make, attribute = p.pick(
        ("{nn}.Linear(4, 3)", "weight"),
        ("{nn}.Embedding(5, 4)", "weight"),
        ("{nn}.Linear(4, 3)", "bias"),
        ("{nn}.BatchNorm1d(3)", "weight"),
    )
    m = p.let(make, "layer", "emb", "m", "module")
    p.line(p.pick(*ITEMS[:7]), w=f"{m}.{attribute}")
    p.line("print({m}.{a}.sum().item())", m=m, a=attribute)


@fault("leaf-view-inplace")
def pad_row_in_init(p: Program) -> None:
    """A module zeroes a row of its parameter in __init__."""
    name = p.fresh("Table", "Lookup", "Embedder", "Tokens")
    p.define(
        "class {c}({nn}.Module):\n    def __init__(self, n=5, dim=3):\n        super().__init__()\n"
        "        self.table = {nn}.Parameter({t}.randn(n, dim))\n        {w}\n\n"
        "    def forward(self, i):\n        return self.table[i]",
        c=name,
        w=p.pick("self.table[0] = 0", "self.table[0].zero_()", "self.table[0, :] = 0.0", "self.table[:1].fill_(0)"),
    )
    m = p.let("{c}()", "lookup", "emb", "m", c=name)
    finish(p, p.tensor((3,), "{m}(1)", m=m))


@legal("leaf-view-inplace", 3)
def view_written_without_grad_mode(p: Program) -> None:
    """View and write both stand under no_grad."""
    w = leaf(p)
    finish(p, derive(p, w))
    with no_grad(p):
        if p.chance(0.5):
            write(p, view(p, w))
        else:
            p.line(p.pick(*ITEMS), w=w)
    finish(p, derive(p, w))


@legal("leaf-view-inplace", 2)
def advanced_index_copies(p: Program) -> None:
    """An index of lists, masks or tensors gives a copy, which may be changed."""
    w = leaf(p)
    c = p.let(
        p.pick(
            "{w}[[0, 1]]",
            "{w}[{w} > 0]",
            "{w}[{t}.tensor([0, 1])]",
            "{w}.index_select(0, {t}.tensor([0]))",
            "{t}.masked_select({w}, {w} < 0)",
            "{w}.gather(0, {t}.zeros_like({w}, dtype={t}.long))",
        ),
        "picked",
        "sub",
        "chosen",
        "rows",
        w=w,
    )
    p.line(p.pick("{c}.add_(1)", "{c} *= 2", "{c}.zero_()", "{c} += 0.5"), c=c)
    p.line("{c}.sum().backward()", c=c)


@legal("leaf-view-inplace", 2)
def filled_plain_buffer(p: Program) -> None:
    """A plain buffer joins the graph when a tracked value is written into it."""
    x = leaf(p, (3,))
    buffer = p.tensor(
        (4, 3),
        p.pick("{t}.zeros(4, 3)", "{t}.ones(4, 3)", "{x}.new_zeros(4, 3)", "{t}.zeros((4, 3))"),
        "out",
        "buffer",
        "result",
        "table",
        x=x,
    )
    with p.block(p.pick("for i in range(4):", "for i in range({b}.shape[0]):"), b=buffer):
        p.line(
            p.pick("{b}[i] = {x} * i", "{b}[i] += {x}", "{b}[i] = {x}.exp() + i", "{b}[i, :] = {x} + 1"),
            b=buffer,
            x=x,
        )
    finish(p, buffer)


@legal("leaf-view-inplace")
def item_of_clone(p: Program) -> None:
    """An element of a clone is assigned."""
    w = leaf(p)
    c = p.tensor(w.shape, "{w}.clone()", "c", "copy_", "new_w", "masked", w=w)
    p.line(p.pick(*ITEMS), w=c)
    finish(p, c)


@legal("leaf-view-inplace")
def view_of_result(p: Program) -> None:
    """A view of a result is written, where nothing of it was saved."""
    w = leaf(p)
    y = p.tensor(w.shape, p.pick("{w} + 1", "{w} * 2", "{w} - {w}.mean()", "{w}.clone()"), "y", "out", "h", w=w)
    write(p, view(p, y))
    finish(p, y)


@legal("leaf-view-inplace")
def item_through_data(p: Program) -> None:
    """A row of a weight is set through .data before any forward pass."""
    m = p.let("{nn}.Embedding(5, 4)", "emb", "embedding", "table")
    p.line(
        p.pick(
            "{m}.weight.data[0] = 0",
            "{m}.weight.data[0].zero_()",
            "{m}.weight.data.uniform_(-0.1, 0.1)",
            "{m}.weight.data[0].fill_(0)",
        ),
        m=m,
    )
    p.line("{m}({t}.tensor([0, 1])).sum().backward()", m=m)


@legal("leaf-view-inplace")
def loss_over_views(p: Program) -> None:
    """Views of a leaf are read only."""
    w = leaf(p)
    v = view(p, w)
    text = scalar(p, fresh_result(p, v))
    backward(p, p.let("{e}", "loss", e=text))
    if p.chance(0.5):
        m = p.let("{nn}.Linear(3, 1)", "m", "head")
        p.line("{o}.step()", o=optimizer(p, f"{m}.parameters()"))
    loss(p, w)
