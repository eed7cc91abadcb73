"""backward of more than one element."""

from __future__ import annotations

from ..networks import batch, model, targets
from ..pieces import derive, leaf, shape_text
from ..program import Program
from .registry import fault, legal

UNREDUCED = (
    "{F}.mse_loss({a}, {b}, reduction='none')",
    "({a} - {b}) ** 2",
    "({a} - {b}).pow(2)",
    "({a} - {b}).abs()",
    "{nn}.MSELoss(reduction='none')({a}, {b})",
    "(({a} - {b}) ** 2).mean(dim=1)",
    "({a} - {b}).pow(2).sum(1)",
    "{F}.l1_loss({a}, {b}, reduction='none')",
    "({a} - {b}).norm(dim=1)",
    "{F}.smooth_l1_loss({a}, {b}, reduction='none').mean(-1)",
    "{t}.sum(({a} - {b}) ** 2, dim=0)",
    "{F}.cosine_similarity({a}, {b})",
    "{F}.binary_cross_entropy_with_logits({a}, {b}.sigmoid(), reduction='none')",
    "{t}.mean(({a} - {b}) ** 2, dim=-1, keepdim=True)",
    "{F}.kl_div({F}.log_softmax({a}, -1), {F}.softmax({b}, -1), reduction='none')",
    "{t}.max(({a} - {b}).abs(), dim=1)[0]",
    "{F}.huber_loss({a}, {b}, reduction='none')",
    "{F}.pairwise_distance({a}, {b})",
)
"""Losses of several elements for a prediction and a target of two dimensions."""


@fault("non-scalar", 3)
def backward_of_tensor(p: Program) -> None:
    """backward on a result that was never reduced."""
    y = derive(p, leaf(p))
    p.line(
        p.pick(
            "{y}.backward()",
            "{y}.backward()",
            "({y} * 2).backward()",
            "{y}.backward(retain_graph=True)",
            "{autograd}.backward({y})",
            "{autograd}.backward([{y}])",
            "{y}.view(-1).backward()",
            "{y}.backward(None)",
            "{y}.backward(gradient=None)",
        ),
        y=y,
    )


@fault("non-scalar", 3)
def unreduced_loss(p: Program) -> None:
    """A loss per sample goes backward."""
    m = model(p, 4, p.pick(2, 3))
    x, y = batch(p, 4), targets(p, m.outputs)
    value = p.let("{e}", "loss", "losses", "per_sample", "l", e=p.text(p.pick(*UNREDUCED), a=f"{m}({x})", b=y))
    if p.chance(0.3):
        p.line("{l} = {l} * {t}.ones(1)", l=value)
    p.line(p.pick("{l}.backward()", "{l}.backward()", "{l}.backward(retain_graph=True)"), l=value)


@fault("non-scalar")
def unreduced_classification(p: Program) -> None:
    """Cross entropy without reduction goes backward."""
    m = model(p, 4, 3)
    p.line("logits = {m}({t}.randn(5, 4))\nlabels = {t}.tensor([0, 1, 2, 0, 1])", m=m)
    p.line(
        "loss = {e}",
        e=p.text(
            p.pick(
                "{F}.cross_entropy(logits, labels, reduction='none')",
                "{nn}.CrossEntropyLoss(reduction='none')(logits, labels)",
                "{F}.nll_loss({F}.log_softmax(logits, dim=1), labels, reduction='none')",
                "-{F}.log_softmax(logits, 1)[{t}.arange(5), labels]",
                "-{F}.log_softmax(logits, -1).gather(1, labels[:, None])",
            )
        ),
    )
    p.line("loss.backward()")


@fault("non-scalar")
def criterion_object(p: Program) -> None:
    """A criterion made elsewhere has reduction none."""
    c = p.let(
        p.pick(
            "{nn}.MSELoss(reduction='none')",
            "{nn}.L1Loss(reduction='none')",
            "{nn}.SmoothL1Loss(reduction='none')",
            "{nn}.BCEWithLogitsLoss(reduction='none')",
        ),
        "criterion",
        "loss_fn",
        "crit",
    )
    m = model(p, 4, 2)
    p.line("loss = {c}({m}({t}.randn(3, 4)), {t}.rand(3, 2))\nloss.backward()", c=c, m=m)


@fault("non-scalar")
def grad_of_tensor(p: Program) -> None:
    """torch.autograd.grad of several outputs without grad_outputs."""
    w = leaf(p)
    y = derive(p, w)
    p.line(
        p.pick(
            "g = {autograd}.grad({y}, {w})",
            "(g,) = {autograd}.grad({y}, [{w}], create_graph=True)",
            "g = {autograd}.grad(outputs={y}, inputs={w})[0]",
            "g, = {autograd}.grad({y}, {w}, retain_graph=True)",
        ),
        y=y,
        w=w,
    )


@fault("non-scalar")
def helper_forgets_to_reduce(p: Program) -> None:
    """A loss function of the program returns a vector."""
    name = p.fresh("loss_fn", "compute_loss", "criterion", "objective", "energy")
    p.define(
        "def {f}(pred, target, weight=1.0):\n    diff = pred - target\n    return {e}",
        f=name,
        e=p.pick(
            "weight * diff ** 2",
            "(diff ** 2).sum(dim=1)",
            "diff.abs().mean(-1)",
            "diff.pow(2).mean(0)",
            "(weight * diff).exp()",
        ),
    )
    m = model(p)
    p.line("loss = {f}({m}({t}.randn(3, 4)), {t}.zeros(3, 2))\nloss.backward()", f=name, m=m)


@legal("non-scalar", 2)
def reduced_loss(p: Program) -> None:
    """A loss per sample that is reduced at last."""
    m = model(p, 4, p.pick(2, 3))
    x, y = batch(p, 4), targets(p, m.outputs)
    value = p.let("{e}", "losses", "per_sample", e=p.text(p.pick(*UNREDUCED), a=f"{m}({x})", b=y))
    p.line(
        p.pick(
            "{l}.mean().backward()",
            "{l}.sum().backward()",
            "loss = {l}.mean()\nloss.backward()",
            "loss = ({l} * 2).sum() / 3\nloss.backward()",
            "{t}.sum({l}).backward()",
            "for l in {l}.flatten():\n    l.backward(retain_graph=True)",
        ),
        l=value,
    )


@legal("non-scalar", 2)
def one_element(p: Program) -> None:
    """A tensor with one element needs no gradient argument, whatever its shape."""
    w = leaf(p, p.pick((1,), (1, 1), (3,)))
    y = p.let(
        p.pick(
            "{w}.sum().view(1)",
            "{w}.sum().reshape(1, 1)",
            "({w} ** 2).sum()[None]",
            "{w}[:1] * 2",
            "{w}.pow(2).sum(0)",
            "{w}.mean(dim=0, keepdim=True)",
            "{w}.flatten()[0:1].exp()",
        ),
        "y",
        "loss",
        w=w,
    )
    p.line("{y}.backward()", y=y)


@legal("non-scalar", 2)
def gradient_given(p: Program) -> None:
    """A tensor goes backward with a gradient of its shape."""
    w = leaf(p)
    y = derive(p, w)
    p.line(
        p.pick(
            "{y}.backward({t}.ones_like({y}))",
            "{y}.backward(gradient={t}.ones({s}))",
            "{autograd}.backward({y}, {t}.ones_like({y}))",
            "{y}.backward({y}.detach())",
            "{autograd}.backward([{y}], grad_tensors=[{t}.ones_like({y})])",
            "g = {autograd}.grad({y}, {w}, grad_outputs={t}.ones_like({y}))",
            "g, = {autograd}.grad({y}, {w}, {t}.ones({s}))",
            "{y}.backward({t}.randn({s}))",
        ),
        y=y,
        w=w,
        s=shape_text(y.shape),
    )


@legal("non-scalar")
def indexed_loss(p: Program) -> None:
    """One element of a result goes backward."""
    w = leaf(p, p.pick((3,), (3, 4)))
    y = derive(p, w)
    index = "0" if y.rank == 1 else "0, 1"
    p.line(
        p.pick("{y}[{i}].backward()", "({y}[{i}] * 2).backward()", "loss = {y}[{i}] + 1\nloss.backward()"),
        y=y,
        i=index,
    )
