"""The pieces programs are made of: leaves, data, results, views, writes, losses, backward calls."""

from __future__ import annotations

import ast
import re
from contextlib import AbstractContextManager

from .catalogue import (
    PAIRED,
    PLAIN_SUMS,
    SAVING_INPUT,
    SAVING_NOTHING,
    SAVING_OUTPUT,
    SCALAR,
    SHAPES,
    SMOOTH,
    VIEWS,
    WRITES,
)
from .program import Program, Var

Shape = tuple[int, ...]

LEAF_NAMES = ("w", "x", "weight", "theta", "a", "param", "W", "scale", "alpha", "v", "coef", "weights", "mu")
DATA_NAMES = ("data", "inputs", "batch", "target", "noise", "t0", "obs", "mask", "xs", "points", "features")
RESULT_NAMES = ("y", "out", "h", "z", "hidden", "act", "feat", "res", "pred", "q", "logits", "tmp", "score")
LOSS_NAMES = ("loss", "loss", "l", "total_loss", "cost", "err", "objective", "s")

LEAVES: tuple[tuple[str, int], ...] = (
    ("{n} = {t}.randn({s}, requires_grad=True)", 12),
    ("{n} = {t}.rand({s}, requires_grad=True)", 4),
    ("{n} = {t}.ones({s}, requires_grad=True)", 4),
    ("{n} = {t}.full(({s},), 0.7, requires_grad=True)", 1),
    ("{n} = {t}.randn(({s},), requires_grad=True)", 1),
    ("{n} = {t}.randn({s}).requires_grad_()", 3),
    ("{n} = {t}.randn({s}).requires_grad_(True)", 2),
    ("{n} = ({t}.randn({s}) * 0.5).requires_grad_()", 2),
    ("{n} = {nn}.Parameter({t}.randn({s}))", 5),
    ("{n} = {nn}.Parameter({t}.rand({s}), requires_grad=True)", 1),
    ("{n} = {nn}.Parameter(data={t}.ones({s}) * 0.3)", 1),
    ("{n} = {t}.randn({s})\n{n}.requires_grad = True", 3),
    ("{n} = {t}.randn({s})\n{n}.requires_grad_()", 3),
    ("{n} = {t}.rand({s})\n{n}.requires_grad_(True)", 1),
    ("{n} = {Variable}({t}.randn({s}), requires_grad=True)", 1),
    ("{n} = {t}.normal(0.0, 1.0, size=({s},), requires_grad=True)", 1),
    ("{n} = {t}.empty({s}).normal_(0, 0.5).requires_grad_()", 1),
    ("{n} = {t}.from_numpy({np}.random.rand({s})).float().requires_grad_()", 1),
    ("{n} = {t}.tensor({np}.ones(({s},)), dtype={t}.float32, requires_grad=True)", 1),
    ("{n} = {t}.randn({s}).detach().requires_grad_(True)", 1),
    ("{n} = {t}.randn({s}).clone().detach().requires_grad_(True)", 1),
    ("{n} = {t}.randn({s}, dtype={t}.float32, requires_grad=True)", 1),
    ("{n} = {t}.randn(*({s},), requires_grad=True)", 1),
    ("{n} = {t}.ones({s}).mul_(0.4).requires_grad_()", 1),
    ("{n} = {t}.randn({s}, device='cpu', requires_grad=True)", 1),
    ("{n} = {t}.randn({s}).to('cpu').requires_grad_()", 1),
    ("{n} = {t}.zeros({s}).uniform_(-1, 1).requires_grad_()", 1),
    ("{n} = {init}.normal_({t}.empty({s})).requires_grad_()", 1),
    ("{n} = {nn}.Parameter({init}.uniform_({t}.empty({s}), -1, 1))", 1),
    ("{n} = {t}.Tensor({s}).uniform_(-1, 1).requires_grad_()", 1),
    ("{n} = {t}.rand(size=({s},), requires_grad=True)", 1),
    ("{n} = {t}.ones_like({t}.zeros({s}), requires_grad=True)", 1),
    ("{n} = {t}.randn_like({t}.zeros({s}), requires_grad=True)", 1),
    ("{n}_init = {t}.randn({s})\n{n} = {n}_init.clone().requires_grad_()", 1),
    ("{n} = {t}.as_tensor({np}.random.rand({s}), dtype={t}.float32).requires_grad_()", 1),
    ("{n} = {nn}.parameter.Parameter({t}.randn({s}))", 1),
    ("{n} = {t}.randn({s}).cpu().float().requires_grad_()", 1),
    ("{n}, _ = {t}.randn({s}, requires_grad=True), None", 1),
)
"""How people make a leaf, and how often."""


def shape_text(shape: Shape) -> str:
    """Return a shape as arguments."""
    return ", ".join(map(str, shape))


def leaf(p: Program, shape: Shape | None = None, *names: str) -> Var:
    """Write a leaf that requires a gradient."""
    shape = p.pick(*SHAPES) if shape is None else shape
    name = p.fresh(*(names or LEAF_NAMES))
    if len(shape) == 1 and p.chance(0.2):
        return _listed_leaf(p, name, shape)
    if not shape:
        p.line(p.pick(*SCALAR_LEAVES), n=name)
        return p.known(name, ())
    template = p.rng.choices([text for text, _ in LEAVES], [often for _, often in LEAVES])[0]
    p.line(template, n=name, s=shape_text(shape))
    return p.known(name, shape)


SCALAR_LEAVES = (
    "{n} = {t}.tensor(0.5, requires_grad=True)",
    "{n} = {t}.tensor(1.0, requires_grad=True)",
    "{n} = {nn}.Parameter({t}.tensor(0.1))",
    "{n} = {t}.randn((), requires_grad=True)",
    "{n} = {t}.zeros((), requires_grad=True)",
    "{n} = {t}.tensor(2.0)\n{n}.requires_grad_()",
)


def _listed_leaf(p: Program, name: str, shape: Shape) -> Var:
    values = ", ".join(str(round(p.rng.uniform(-2, 2), 1)) for _ in range(shape[0]))
    template = p.pick(
        "{n} = {t}.tensor([{v}], requires_grad=True)",
        "{n} = {t}.tensor([{v}], requires_grad=True)",
        "{n} = {nn}.Parameter({t}.tensor([{v}]))",
        "{n} = {t}.tensor([{v}], dtype={t}.float32, requires_grad=True)",
        "{n} = {t}.linspace(0.1, 1.0, {k}, requires_grad=True)",
        "{n} = {t}.arange({k}, dtype={t}.float32, requires_grad=True)",
        "{n} = {t}.arange({k}.0, requires_grad=True)",
        "{n} = {t}.FloatTensor([{v}]).requires_grad_()",
        "{n} = {t}.tensor([{v}]).requires_grad_()",
    )
    p.line(template, n=name, v=values, k=shape[0])
    return p.known(name, shape)


def data(p: Program, shape: Shape | None = None, *names: str) -> Var:
    """Write a tensor that requires no gradient."""
    shape = p.pick(*SHAPES) if shape is None else shape
    template = p.pick(
        "{t}.randn({s})",
        "{t}.randn({s})",
        "{t}.rand({s})",
        "{t}.ones({s})",
        "{t}.randn(({s},))",
        "{t}.randn({s}) * 0.5",
        "{t}.full(({s},), 0.3)",
        "{t}.randn({s}, dtype={t}.float32)",
        "{t}.empty({s}).uniform_(0, 1)",
        "{t}.linspace(0, 1, {n}).reshape({s})",
        "{t}.arange({n}).float().view({s})",
        "{t}.from_numpy({np}.random.randn({s}).astype('float32'))",
        "{t}.as_tensor({np}.random.rand({s}), dtype={t}.float32)",
    )
    var = p.known(p.fresh(*(names or DATA_NAMES)), shape)
    p.line(f"{var} = {template}", s=shape_text(shape), n=var.numel)
    return var


def apply(p: Program, x: Var, table: tuple[str, ...], *names: str) -> Var:
    """Write a result of the same shape, by an operation of the table."""
    return p.tensor(x.shape, p.pick(*table), *(names or RESULT_NAMES), x=x, n=x.numel)


def derive(p: Program, x: Var, *names: str) -> Var:
    """Write a result that is no leaf if `x` requires a gradient."""
    kind = p.rng.random()
    if kind < 0.6:
        return apply(p, x, SMOOTH, *names)
    if kind < 0.8:
        return apply(p, apply(p, x, SMOOTH), SMOOTH, *names)
    other = data(p, x.shape)
    return p.tensor(x.shape, p.pick(*PAIRED), *(names or RESULT_NAMES), x=x, y=other)


def fresh_result(p: Program, x: Var, *names: str) -> Var:
    """Write a result of arithmetic that surely has memory of its own and is tracked."""
    return apply(p, x, p.pick(SAVING_NOTHING, SAVING_INPUT, SAVING_OUTPUT), *names)


def viewed_shape(shape: Shape, what: str) -> Shape:
    """Return the shape of a view of the table `VIEWS`."""
    numel = Var("", shape).numel
    return {
        "drop first": shape[1:],
        "two": (2, *shape[1:]),
        "same": shape,
        "flat": (numel,),
        "lead": (1, *shape),
        "column": (numel, 1),
        "turn": (*shape[1::-1], *shape[2:]),
        "diagonal": (min(shape[:2]),) if len(shape) == 2 else (*shape[2:], min(shape[:2])),
    }[what]


def view_expression(p: Program, x: Var) -> tuple[str, Shape]:
    """Return the text and the shape of a view of `x`."""
    options = [row for row in VIEWS if row[0] <= x.rank and not (row[0] == 2 and x.rank != 2)]
    _, template, what = p.rng.choice(options)
    return p.text(template, x=x, n=x.numel), viewed_shape(x.shape, what)


def view(p: Program, x: Var, *names: str) -> Var:
    """Write a view of `x`."""
    text, shape = view_expression(p, x)
    return p.tensor(shape, "{e}", *(names or ("row", "v", "part", "flat", "sub", "head", "view", "first")), e=text)


def writing(p: Program, x: Var | str, rank: int | None = None) -> str:
    """Return a statement that writes in place into `x`."""
    rank = x.rank if isinstance(x, Var) else (rank or 0)
    options = [template for least, template in WRITES if least <= rank and not (least == 2 and rank != 2)]
    if isinstance(x, Var) and 1 in x.shape[:2]:
        options = [template for template in options if not re.search(r"\b1\]|select|\[0, 1", template)]
    if "[" in str(x):
        # An augmented assignment to an element of a tuple is an error of Python's.
        options = [template for template in options if not re.match(r"\{x\} .?.= ", template)]
    numel = x.numel if isinstance(x, Var) else 100
    return p.text(p.rng.choice(options), x=x, n=numel)


def scalar(p: Program, x: Var) -> str:
    """Return an expression of one number."""
    return p.text(p.pick(*SCALAR), x=x, n=x.numel)


def plain_sum(p: Program, x: Var) -> str:
    """Return an expression of one number that keeps nothing for backward."""
    return p.text(p.pick(*PLAIN_SUMS), x=x, n=x.numel)


def loss(p: Program, *terms: Var) -> Var:
    """Write a loss of these terms."""
    text = " + ".join(scalar(p, term) for term in terms)
    return p.tensor((), "{e}", *LOSS_NAMES, e=text)


def backward(p: Program, of: Var | str) -> None:
    """Write a plain backward call."""
    p.line(
        p.pick("{l}.backward()", "{l}.backward()", "{l}.backward()", "{l}.backward()", "{autograd}.backward({l})"),
        l=of,
    )


def finish(p: Program, *terms: Var) -> None:
    """Write a loss of these terms and its backward, in one line or two."""
    if len(terms) == 1 and p.chance(0.35):
        text = scalar(p, terms[0])
        simple = isinstance(ast.parse(text, mode="eval").body, ast.Call)
        p.line("{e}.backward()" if simple else "({e}).backward()", e=text)
    else:
        backward(p, loss(p, *terms))


def no_grad(p: Program) -> AbstractContextManager[None]:
    """Open a block without grad mode."""
    return p.block(
        p.pick(
            "with {t}.no_grad():",
            "with {t}.no_grad():",
            "with {t}.no_grad():",
            "with {t}.set_grad_enabled(False):",
        )
    )


def flag(p: Program) -> str:
    """Return a condition that is true when the program runs, though no one can know from the text."""
    return p.pick(
        p.text("len({sys}.argv) < 100"),
        p.text("{np}.random.rand() < 2"),
        p.text("len({sys}.path) >= 0"),
        p.text("{t}.rand(1).item() < 2"),
    )


def rate(p: Program) -> str:
    """Return a learning rate, as a number or a constant of the program."""
    return p.constant(p.pick("0.1", "0.01", "1e-2", "0.05", "1e-3"), "lr", "LR", "learning_rate", "step_size", "eta")
