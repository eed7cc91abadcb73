"""detach_ on views."""

from __future__ import annotations

from ..deliver import write
from ..pieces import data, derive, finish, fresh_result, leaf, view
from ..program import Program
from .registry import fault, legal


@fault("detach-view", 3)
def detached_view(p: Program) -> None:
    """detach_ is called on a view."""
    kind = p.pick("result", "leaf", "data")
    base = data(p) if kind == "data" else leaf(p)
    if kind == "result":
        base = derive(p, base)
    p.line("{v}.detach_()", v=view(p, base))
    finish(p, derive(p, leaf(p)))


@fault("detach-view")
def detached_slices(p: Program) -> None:
    """Parts or rows of a result are detached in place."""
    y = fresh_result(p, leaf(p, p.pick((4, 3), (4,))))
    form = p.pick(
        "for part in {y}.chunk(2):\n    part.detach_()",
        "{y}[0].detach_()",
        "rows = [{y}[i] for i in range(2)]\nfor r in rows:\n    r.detach_()",
        "{y}.view(-1).detach_()",
        "a, b = {y}.split(2)\nb.detach_()",
        "{t}.detach_({y}[:1])",
        "last = {y}[-1]\nlast.detach_()",
    )
    p.line(form, y=y)
    p.reserve("a", "b", "rows", "last")
    finish(p, y)


@fault("detach-view")
def detached_last_state(p: Program) -> None:
    """The last state of a sequence is a view, and detach_ refuses it."""
    rnn = p.let("{nn}.GRU(4, 3)", "rnn", "gru")
    p.line(
        "out, h = {r}({t}.randn(5, 2, 4))\nout.sum().backward()\nstate = {v}\nstate.detach_()",
        r=rnn,
        v=p.pick("out[-1]", "h[0]", "h.squeeze(0)", "out.view(-1, 3)", "out.transpose(0, 1)"),
    )


@legal("detach-view", 2)
def detached_result(p: Program) -> None:
    """detach_ on what is no view."""
    y = fresh_result(p, leaf(p))
    finish(p, y)
    p.line(p.pick("{y}.detach_()", "{t}.detach_({y})"), y=y)
    write(p, y)


@legal("detach-view", 2)
def detached_out_of_place(p: Program) -> None:
    """detach() of a view."""
    y = derive(p, leaf(p))
    v = view(p, y)
    p.line(
        p.pick(
            "{v} = {v}.detach()",
            "fixed = {v}.detach()",
            "fixed = {v}.clone().detach_()",
            "fixed = {v}.detach().clone()",
        ),
        v=v,
    )
    finish(p, y)


@legal("detach-view")
def detached_recurrent_state(p: Program) -> None:
    """A state that is the cell's own result is detached in place."""
    cell = p.let(p.pick("{nn}.GRUCell(4, 3)", "{nn}.RNNCell(4, 3)"), "cell", "rnn")
    p.line(
        (
            "h = {t}.zeros(2, 3)\n"
            "for _ in range(3):\n"
            "    h = {c}({t}.randn(2, 4), h)\n"
            "    {c}.zero_grad()\n"
            "    h.pow(2).mean().backward()\n"
            "    h.detach_()"
        ),
        c=cell,
    )
    p.reserve("h")
