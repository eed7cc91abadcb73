""".grad of a tensor that is no leaf."""

from __future__ import annotations

from ..networks import batch, criterion, model, targets
from ..pieces import data, derive, finish, leaf, rate
from ..program import Program
from .registry import fault, legal


@fault("non-leaf-grad", 3)
def gradient_of_result(p: Program) -> None:
    """The .grad of a non-leaf is read after backward."""
    w = leaf(p)
    y = derive(p, w)
    finish(p, y)
    p.line(
        p.pick(
            "print({y}.grad)",
            "g = {y}.grad",
            "print(f'grad: {{{y}.grad}}')",
            "grads = [{w}.grad, {y}.grad]",
            "if {y}.grad is not None:\n    print({y}.grad.norm())",
            "print({y}.grad is None)",
            "for t in [{w}, {y}]:\n    print(t.grad)",
            "g = {y}.grad\nprint(g.norm())",
            "print({y}.grad.mean())",
            "{y}.grad.zero_()",
        ),
        y=y,
        w=w,
    )


LOST_LEAVES = (
    "{t}.randn(3, requires_grad=True) * 0.1",
    "{t}.randn(3, requires_grad=True).double()",
    "{t}.ones(3, requires_grad=True).view(3, 1)",
    "2 * {t}.ones(3, requires_grad=True)",
    "{t}.randn(3, 4, requires_grad=True).t()",
    "{t}.randn(3, requires_grad=True).to({t}.float64)",
    "{nn}.Parameter({t}.randn(3)) / 2",
    "{t}.zeros(3, requires_grad=True) + 1",
    "{t}.rand(3, requires_grad=True).reshape(1, 3)",
    "{t}.randn(3, requires_grad=True).half().float()",
    "{t}.randn(3, requires_grad=True).clone()",
)


@fault("non-leaf-grad", 2)
def lost_leaf(p: Program) -> None:
    """What the program takes for a leaf is the result of an operation on one."""
    w = p.let(p.pick(*LOST_LEAVES), "w", "x", "weight", "W")
    p.line("loss = ({w} ** 2).sum()\nloss.backward()", w=w)
    p.line(
        p.pick(
            "print({w}.grad)",
            "grad = {w}.grad",
            "print('gradient', {w}.grad)",
            "with {t}.no_grad():\n    {w} -= 0.1 * {w}.grad",
            "history = [{w}.grad]",
        ),
        w=w,
    )


@fault("non-leaf-grad")
def rebound_leaf(p: Program) -> None:
    """The update makes a non-leaf of the parameter."""
    w = leaf(p, p.pick((3,), (4,)))
    x = data(p, w.shape)
    with p.block(p.pick("for step in range(3):", "for epoch in range(2):")):
        p.line(
            "loss = (({w} - {x}) ** 2).mean()\nloss.backward()\n{w} = {w} - {lr} * {w}.grad",
            w=w,
            x=x,
            lr=rate(p),
        )


@fault("non-leaf-grad")
def gradient_of_activation(p: Program) -> None:
    """A module's activation is kept and its gradient read without retain_grad."""
    name = p.fresh("Net", "Probe", "GradCam")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.a = {nn}.Linear(4, 3)\n"
            "        self.b = {nn}.Linear(3, 1)\n\n"
            "    def forward(self, x):\n"
            "        self.act = {t}.tanh(self.a(x))\n"
            "        return self.b(self.act)"
        ),
        c=name,
    )
    m = p.let("{c}()", "net", "m", c=name)
    p.line(
        "{m}({t}.randn(2, 4)).sum().backward()\n{r}",
        m=m,
        r=p.pick(f"print({m}.act.grad)", f"cam = {m}.act.grad", f"weights = {m}.act.grad.mean(0)"),
    )


@legal("non-leaf-grad", 3)
def gradient_retained(p: Program) -> None:
    """retain_grad was called, or the tensor is a leaf, or it never had a graph."""
    w = leaf(p)
    y = derive(p, w)
    p.line("{y}.retain_grad()", y=y)
    finish(p, y)
    p.line(
        p.pick(
            "print({y}.grad)",
            "g = {y}.grad.clone()",
            "print({y}.grad.norm(), {w}.grad.norm())",
            "{y}.grad.zero_()",
        ),
        y=y,
        w=w,
    )


@legal("non-leaf-grad", 2)
def gradient_of_leaf(p: Program) -> None:
    """Only gradients of leaves are read, or of detached copies."""
    w = leaf(p)
    y = derive(p, w)
    finish(p, y)
    p.line(
        p.pick(
            "print({w}.grad)",
            "g = {w}.grad.detach()",
            "d = {y}.detach()\nprint(d.grad)",
            "x_ = {t}.ones(3)\nprint(x_.grad)",
            "if {y}.is_leaf:\n    print({y}.grad)",
            "print([t.grad for t in [{w}, {y}] if t.is_leaf])",
        ),
        w=w,
        y=y,
    )


@legal("non-leaf-grad")
def trained_then_read(p: Program) -> None:
    """Gradients of parameters are read in a loop."""
    m = model(p)
    x, y = batch(p, 4), targets(p, 2)
    p.line(
        ("loss = {e}\nloss.backward()\nfor name, q in {m}.named_parameters():\n    print(name, q.grad.norm().item())"),
        e=criterion(p, f"{m}({x})", str(y)),
        m=m,
    )
