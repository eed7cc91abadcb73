"""backward with a gradient of another shape."""

from __future__ import annotations

from ..pieces import data, derive, leaf, scalar, shape_text
from ..program import Program
from .registry import fault, legal


def _other_shape(p: Program, shape: tuple[int, ...]) -> str:
    if not shape:
        return p.pick("1", "3", "2, 2")
    return p.pick(
        shape_text((*shape[:-1], shape[-1] + 1)),
        shape_text((1, *shape)),
        shape_text((*shape, 1)),
        "1" if shape != (1,) else "2",
        shape_text(shape[:-1]) or "()",
    )


@fault("grad-shape", 3)
def gradient_of_other_shape(p: Program) -> None:
    """The gradient argument has another shape than the tensor."""
    w = leaf(p)
    y = derive(p, w)
    gradient = p.text(
        p.pick(
            "{t}.ones({s})",
            "{t}.randn({s})",
            "{t}.ones({s}) * 0.5",
            "{t}.zeros({s})",
            "{t}.full(({s},), 1.0)",
            "{t}.rand({s})",
        ),
        s=_other_shape(p, y.shape),
    )
    if p.chance(0.3):
        gradient = p.let("{g}", "g", "grad_output", "v", "seed_grad", g=gradient.replace("((),)", "()"))
    p.line(
        p.pick(
            "{y}.backward({g})",
            "{y}.backward(gradient={g})",
            "{autograd}.backward({y}, {g})",
            "{autograd}.backward([{y}], [{g}])",
            "{autograd}.grad({y}, {w}, {g})",
            "r = {autograd}.grad({y}, {w}, grad_outputs={g})[0]",
            "{autograd}.backward({y}, grad_tensors={g})",
        ),
        y=y,
        w=w,
        g=gradient.replace("((),)", "()"),
    )


@fault("grad-shape")
def scalar_gradient(p: Program) -> None:
    """A number is given for a vector, or a vector for a number."""
    w = leaf(p)
    if p.chance(0.5):
        y = derive(p, w)
        p.line(
            p.pick(
                "{y}.backward({t}.tensor(1.0))",
                "{y}.backward({t}.tensor([1.0]))",
                "{y}.backward({t}.tensor(1.))",
                "{y}.backward({y}.detach().sum())",
                "{y}.backward({t}.ones(()))",
            ),
            y=y,
        )
    else:
        value = p.let("{e}", "loss", "l", e=scalar(p, w))
        p.line(
            p.pick(
                "{l}.backward({t}.ones(1))",
                "{l}.backward({t}.tensor([1.0]))",
                "{l}.backward({t}.ones_like({w}))",
                "{l}.backward(gradient={t}.ones(1, 1))",
                "{l}.backward({t}.FloatTensor([1.0]))",
            ),
            l=value,
            w=w,
        )


@fault("grad-shape")
def gradient_like_the_input(p: Program) -> None:
    """The gradient has the input's shape where the output's is needed."""
    w, x = leaf(p, (4, 3)), data(p, (2, 4))
    y = p.let(p.pick("{x} @ {w}", "{x}.mm({w})", "{t}.matmul({x}, {w})"), "y", "out", x=x, w=w)
    p.line(
        p.pick(
            "{y}.backward({t}.ones_like({w}))",
            "{y}.backward({t}.ones_like({x}))",
            "{y}.backward({t}.ones(3, 2))",
            "{autograd}.grad({y}, {w}, {t}.ones_like({w}))",
            "{y}.backward({t}.ones({y}.shape[0]))",
            "{y}.backward({t}.ones({y}.size(1)))",
        ),
        y=y,
        w=w,
        x=x,
    )


@fault("grad-shape")
def gradient_of_reduced(p: Program) -> None:
    """The output was reduced along a dimension, the gradient was not."""
    w = leaf(p, (3, 4))
    y = p.let(
        p.pick(
            "{w}.sum(0)",
            "({w} ** 2).mean(dim=1)",
            "{w}.exp().sum(dim=0)",
            "{w}.max(dim=1).values",
            "{w}.norm(dim=0)",
            "{w}.prod(1)",
        ),
        "y",
        "reduced",
        w=w,
    )
    p.line(
        p.pick(
            "{y}.backward({t}.ones(3, 4))",
            "{y}.backward({t}.ones_like({w}))",
            "{y}.backward({t}.ones(1))",
            "{y}.backward({t}.ones(12))",
        ),
        y=y,
        w=w,
    )


@legal("grad-shape", 2)
def gradient_of_same_shape(p: Program) -> None:
    """The gradient has the output's shape, however it was made."""
    w = leaf(p, (3, 4))
    y = p.let(
        p.pick(
            "{w}.sum(0)",
            "({w} ** 2).mean(dim=0)",
            "{w}.exp().sum(dim=0)",
            "{w}.max(dim=0).values",
            "{w}[0] * 2",
            "{w}.t()[:, 0] * {w}[1]",
        ),
        "y",
        "reduced",
        w=w,
    )
    p.line(
        p.pick(
            "{y}.backward({t}.ones(4))",
            "{y}.backward({t}.ones_like({y}))",
            "{y}.backward({t}.tensor([1.0, 0.0, 0.0, 0.0]))",
            "{y}.backward({t}.ones({y}.shape))",
            "{y}.backward({t}.ones({y}.size()))",
            "{y}.backward({y}.new_ones(4))",
            "{y}.backward({t}.linspace(0, 1, 4))",
            "{y}.backward({t}.eye(4)[0])",
        ),
        y=y,
    )


@legal("grad-shape", 2)
def rows_of_a_jacobian(p: Program) -> None:
    """A Jacobian is built from unit vectors."""
    w = leaf(p, (3,))
    y = derive(p, w)
    p.line(
        ("rows = []\nfor i in range(3):\n    e = {t}.zeros_like({y})\n    e[i] = 1\n    {c}\njac = {t}.stack(rows)"),
        y=y,
        w=w,
        c=p.text(
            p.pick(
                "rows.append({autograd}.grad({y}, {w}, e, retain_graph=True)[0])",
                "{w}.grad = None\n    {y}.backward(e, retain_graph=True)\n    rows.append({w}.grad.clone())",
            ),
            y=y,
            w=w,
        ),
    )
    p.reserve("rows", "jac", "e", "i")


@legal("grad-shape")
def gradient_of_number(p: Program) -> None:
    """A number goes backward with a number."""
    w = leaf(p)
    value = p.let("{e}", "loss", "l", e=scalar(p, w))
    p.line(
        p.pick(
            "{l}.backward({t}.tensor(1.0))",
            "{l}.backward({t}.tensor(0.5))",
            "{l}.backward({t}.ones_like({l}))",
            "{l}.backward(gradient={t}.ones(()))",
            "{l}.backward({t}.ones([]))",
        ),
        l=value,
    )
