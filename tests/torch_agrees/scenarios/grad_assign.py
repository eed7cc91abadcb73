""".grad assigned something that does not fit."""

from __future__ import annotations

from ..catalogue import SAVING_NOTHING
from ..networks import model, optimizer
from ..pieces import apply, data, derive, finish, leaf, shape_text
from ..program import Program
from .registry import fault, legal

WRONG_GRADIENTS = (
    "{t}.zeros({o})",
    "{t}.ones({o})",
    "{t}.zeros({s}, dtype={t}.float64)",
    "{t}.zeros({s}, dtype={t}.long)",
    "{t}.randn({s}).double()",
    "{t}.randn({o})",
    "0.0",
    "0",
    "{t}.tensor(0.0)",
    "{t}.ones({s}, dtype={t}.int32)",
    "{t}.randn({s}).half()",
    "{np}.zeros(({s},))",
    "{t}.zeros({s}).bool()",
    "{t}.ones({s}).unsqueeze(0)",
    "[0.0]",
)


@fault("grad-assign", 4)
def wrong_gradient(p: Program) -> None:
    """A gradient of another shape or type is assigned."""
    w = leaf(p) if p.chance(0.8) else data(p)
    value = p.text(p.pick(*WRONG_GRADIENTS), s=shape_text(w.shape), o=shape_text((*w.shape[:-1], w.shape[-1] + 1)))
    if p.chance(0.4):
        value = p.let("{e}", "g", "grad", "new_grad", "direction", e=value)
    p.line("{w}.grad = {g}", w=w, g=value)


@fault("grad-assign", 2)
def gradients_mixed_up(p: Program) -> None:
    """Gradients are assigned to the wrong parameters."""
    a, b = leaf(p, (3, 4)), leaf(p, (4,))
    p.line("grads = {autograd}.grad(({a} * {b}).sum(), [{a}, {b}])", a=a, b=b)
    p.line(
        p.pick(
            "for q, g in zip([{b}, {a}], grads):\n    q.grad = g",
            "{b}.grad = grads[0]",
            "{a}.grad = grads[1]",
            "for q, g in zip([{a}, {b}], reversed(grads)):\n    q.grad = g",
            "{a}.grad = grads[0].view(-1)",
            "{a}.grad = grads[0].t()",
            "{a}.grad = grads[0].sum(0)",
        ),
        a=a,
        b=b,
    )


@fault("grad-assign")
def gradient_of_parameter(p: Program) -> None:
    """A module's parameters are given gradients that do not fit."""
    m = p.let("{nn}.Linear(4, 3)", "fc", "layer", "m")
    p.line(
        p.pick(
            "{m}.weight.grad = {t}.zeros(4, 3)",
            "{m}.bias.grad = {t}.zeros(1)",
            "{m}.weight.grad = {t}.zeros(3, 4, dtype={t}.float64)",
            "for p in {m}.parameters():\n    p.grad = {t}.zeros(3)",
            "for p in {m}.parameters():\n    p.grad = 0",
            "{m}.weight.grad = {m}.bias.detach()",
            "{m}.weight.grad = {t}.randn(4, 3)",
            "for p in {m}.parameters():\n    p.grad = {t}.ones_like(p).flatten()",
            "{m}.bias.grad = {t}.ones(3).long()",
        ),
        m=m,
    )


@fault("grad-assign")
def helper_assigns_gradients(p: Program) -> None:
    """A helper scatters a flat vector over the gradients and forgets the shape."""
    name = p.fresh("set_grads", "unflatten", "assign_grad", "scatter")
    p.define(
        (
            "def {f}(params, flat):\n"
            "    start = 0\n"
            "    for q in params:\n"
            "        n = q.numel()\n"
            "        q.grad = flat[start:start + n]{v}\n"
            "        start += n"
        ),
        f=name,
        v=p.pick("", ".clone()", ".view(1, -1)"),
    )
    w = leaf(p, (3, 4))
    p.line("{f}([{w}], {t}.zeros(12))", f=name, w=w)


@legal("grad-assign", 3)
def right_gradient(p: Program) -> None:
    """A gradient that fits, or None, is assigned."""
    w = leaf(p)
    if p.chance(0.5):
        finish(p, derive(p, w))
    p.line(
        p.pick(
            "{w}.grad = None",
            "{w}.grad = {t}.zeros_like({w})",
            "{w}.grad = {t}.ones({s})",
            "{w}.grad = {w}.detach().clone()",
            "{w}.grad = {t}.randn({s}) * 0.1",
            "{w}.grad = {t}.zeros({s}, dtype={t}.float32)",
            "{w}.grad = {t}.empty_like({w}).fill_(0.5)",
        ),
        w=w,
        s=shape_text(w.shape),
    )
    if p.chance(0.5):
        p.line("{o}.step()", o=optimizer(p, f"[{w}]"))


@legal("grad-assign")
def gradients_by_hand(p: Program) -> None:
    """Gradients from autograd.grad are assigned to the parameters they belong to."""
    m = model(p)
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        (
            "loss = {m}({t}.randn(3, 4)).pow(2).mean()\n"
            "grads = {autograd}.grad(loss, list({m}.parameters()))\n"
            "for p, g in zip({m}.parameters(), grads):\n"
            "    p.grad = {g}\n"
            "{o}.step()"
        ),
        m=m,
        o=o,
        g=p.pick("g", "g.clone()", "g * 0.5", "g.clamp(-1, 1)"),
    )


@legal("grad-assign")
def gradient_scaled(p: Program) -> None:
    """A gradient is changed in place."""
    w = leaf(p)
    finish(p, apply(p, w, SAVING_NOTHING))
    p.line(
        p.pick(
            "{w}.grad *= 0.5",
            "{w}.grad.mul_(2)",
            "{w}.grad = {w}.grad * 0.5",
            "{w}.grad.data.clamp_(-1, 1)",
            "{w}.grad[0] = 0",
            "{w}.grad = {w}.grad.clamp(-1, 1)",
            "{w}.grad.zero_()",
        ),
        w=w,
    )
    finish(p, derive(p, w))
