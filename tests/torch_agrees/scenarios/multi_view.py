"""Several views from one call, which refuse to be written."""

from __future__ import annotations

from ..catalogue import SAVING_NOTHING
from ..deliver import write
from ..pieces import apply, data, derive, finish, fresh_result, leaf, writing
from ..program import Program, Var
from .registry import fault, legal

SPLITS = (
    "{y}.chunk(2)",
    "{t}.chunk({y}, 2)",
    "{y}.split(1)",
    "{t}.split({y}, 2)",
    "{y}.unbind()",
    "{t}.unbind({y})",
    "{y}.unbind(0)",
    "{t}.chunk({y}, 2, dim=0)",
    "{y}.split([1, 3])",
    "{t}.unbind({y}, dim=0)",
    "list({y})",
    "{y}.split(2, dim=0)",
)
"""Calls that give several views of a tensor of four rows."""


PLAIN_SPLITS = (
    "{t}.tensor_split({y}, 2)",
    "{y}.tensor_split(2)",
    "({y}[:2], {y}[2:])",
    "[{y}[i] for i in range(4)]",
    "[{y}.narrow(0, 0, 2), {y}.narrow(0, 2, 2)]",
)
"""Calls that give several views, each like any other."""


def _parent(p: Program) -> Var:
    w = leaf(p, p.pick((4,), (4, 3), (4, 2)))
    return w if p.chance(0.15) else fresh_result(p, w)


@fault("multi-view", 3)
def written_part(p: Program) -> None:
    """A part from chunk, split or unbind is written."""
    y = _parent(p)
    parts = p.let(p.pick(*SPLITS), "parts", "chunks", "rows", "pieces", y=y)
    p.line("{w}", w=writing(p, f"{parts}[{p.pick('0', '1', '-1')}]"))
    finish(p, y)


@fault("multi-view", 2)
def written_named_part(p: Program) -> None:
    """One of two named halves is written."""
    y = _parent(p)
    names = p.pick(("a", "b"), ("left", "right"), ("mean", "logvar"), ("gate", "value"), ("lo", "hi"))
    p.reserve(*names)
    p.line(
        p.pick(
            "{a}, {b} = {y}.chunk(2)",
            "{a}, {b} = {t}.split({y}, 2)",
            "{a}, {b} = {y}.chunk(2, dim=0)",
            "{a}, {b}, *_ = {y}.unbind()",
            "({a}, {b}) = {t}.chunk({y}, chunks=2)",
        ),
        a=names[0],
        b=names[1],
        y=y,
    )
    write(p, Var(names[p.pick(0, 1)], ()))
    finish(p, y)


@fault("multi-view", 2)
def written_in_iteration(p: Program) -> None:
    """Rows that come from iterating over a tensor are written."""
    y = _parent(p)
    with p.block(
        p.pick(
            "for row in {y}:",
            "for i, row in enumerate({y}):",
            "for row, k in zip({y}, range(4)):",
            "for row in {y}.unbind():",
            "for row in {t}.unbind({y}, 0):",
            "for row in {y}.split(1):",
        ),
        y=y,
    ):
        p.line("{w}", w=writing(p, "row"))
    finish(p, y)


@fault("multi-view", 2)
def written_base_of_parts(p: Program) -> None:
    """The tensor itself is written after it was split, and the parts are used."""
    y = _parent(p)
    parts = p.let(p.pick(*SPLITS), "parts", "chunks", "rows", "pieces", y=y)
    write(p, y)
    p.line(
        p.pick(
            "{q}[0].sum().backward()",
            "({q}[0] * 2).sum().backward()",
            "total = sum(part.sum() for part in {q})\ntotal.backward()",
            "({q}[0].sum() + {q}[1].sum()).backward()",
        ),
        q=parts,
    )


@legal("multi-view", 2)
def plain_split_written(p: Program) -> None:
    """Slices and tensor_split give plain views, which may be written."""
    y = apply(p, leaf(p, p.pick((4,), (4, 3))), SAVING_NOTHING)
    parts = p.let(p.pick(*PLAIN_SPLITS), "parts", "chunks", "rows", y=y)
    p.line("{w}", w=writing(p, f"{parts}[0]"))
    finish(p, y)


@legal("multi-view", 2)
def cloned_part_written(p: Program) -> None:
    """A clone of a part is written, or a new tensor is made of it."""
    y = _parent(p)
    parts = p.let(p.pick(*SPLITS), "parts", "chunks", "rows", y=y)
    part = p.let(p.pick("{q}[0].clone()", "{q}[0] * 1", "{q}[1] + 0", "{t}.clone({q}[0])"), "part", "piece", q=parts)
    p.line("{w}", w=writing(p, part))
    p.line("({q}[0].sum() + {c}.sum()).backward()", q=parts, c=part)


@legal("multi-view")
def part_without_gradient(p: Program) -> None:
    """The tensor that is split requires no gradient."""
    x = data(p, p.pick((4,), (4, 3)))
    parts = p.let(p.pick(*SPLITS), "parts", "chunks", "rows", y=x)
    p.line("{w}", w=writing(p, f"{parts}[0]"))
    finish(p, derive(p, leaf(p)))


@legal("multi-view")
def parts_read(p: Program) -> None:
    """Parts are only read, rebuilt into a new tensor."""
    y = _parent(p)
    parts = p.let("list({e})", "parts", "chunks", "rows", e=p.text(p.pick(*SPLITS), y=y))
    p.line(
        p.pick(
            "{q}[0] = {q}[0] * 2",
            "{q}[0] = {t}.zeros_like({q}[0])",
            "{q} = [part + 1 for part in {q}]",
            "{q}.reverse()",
        ),
        q=parts,
    )
    p.line(
        p.pick(
            "sum(part.sum() for part in {q}).backward()",
            "({q}[0].sum() + {q}[1].sum()).backward()",
            "{t}.stack([part.sum() for part in {q}]).mean().backward()",
        ),
        q=parts,
    )


@legal("multi-view")
def split_after_write(p: Program) -> None:
    """The write comes before the split."""
    y = apply(p, leaf(p, p.pick((4,), (4, 3))), SAVING_NOTHING)
    write(p, y)
    parts = p.let(p.pick(*SPLITS), "parts", "chunks", "rows", y=y)
    p.line(p.pick("{q}[0].sum().backward()", "({q}[0].sum() * 2 + {q}[1].sum()).backward()"), q=parts)
