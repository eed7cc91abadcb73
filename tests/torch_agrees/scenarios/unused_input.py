"""Gradients asked for inputs that the output does not depend on."""

from __future__ import annotations

from ..networks import batch, criterion, model, targets
from ..pieces import data, derive, finish, leaf, scalar
from ..program import Program, Var
from .registry import fault, legal


@fault("unused-input", 3)
def unused_leaf(p: Program) -> None:
    """One of the inputs takes no part in the output."""
    w, u = leaf(p), leaf(p)
    value = p.let("{e}", "loss", "out", "energy", e=scalar(p, derive(p, w)))
    p.line(
        p.pick(
            "g = {autograd}.grad({l}, [{w}, {u}])",
            "{autograd}.grad({l}, ({u}, {w}))",
            "ga, gb = {autograd}.grad({l}, [{w}, {u}], create_graph=True)",
            "g = {autograd}.grad({l}, {u})[0]",
            "grads = {autograd}.grad(outputs={l}, inputs=[{w}, {u}])",
            "g, = {autograd}.grad({l}, {u}, retain_graph=True)",
        ),
        l=value,
        w=w,
        u=u,
    )


@fault("unused-input", 2)
def gradient_of_a_new_view(p: Program) -> None:
    """The gradient is asked for a view or copy that the output never saw."""
    w = leaf(p)
    value = p.let("{e}", "loss", "out", e=scalar(p, derive(p, w)))
    p.line(
        p.pick(
            "g = {autograd}.grad({l}, {w}[0])",
            "g = {autograd}.grad({l}, {w}.view(-1))[0]",
            "g = {autograd}.grad({l}, {w}.clone())",
            "g, = {autograd}.grad({l}, {w}.unsqueeze(0))",
            "w2 = {w} * 1\ng = {autograd}.grad({l}, w2)",
            "g = {autograd}.grad({l}, [{w}, {w}.reshape(-1)])",
            "parts = [{w}[i] for i in range(2)]\ng = {autograd}.grad({l}, parts)",
        ),
        l=value,
        w=w,
    )


@fault("unused-input", 2)
def input_without_gradient(p: Program) -> None:
    """One of the inputs does not require a gradient."""
    w = leaf(p)
    x = data(p, w.shape)
    value = p.let("{e}", "loss", "out", e=p.text("(({w} - {x}) ** 2 * {x}).mean()", w=w, x=x))
    p.line(
        p.pick(
            "g = {autograd}.grad({l}, {x})",
            "g = {autograd}.grad({l}, [{w}, {x}])",
            "gx, = {autograd}.grad({l}, {x}, create_graph=True)",
            "g = {autograd}.grad({l}, {w}.detach())",
            "g = {autograd}.grad({l}, {x}, allow_unused=True)",
        ),
        l=value,
        w=w,
        x=x,
    )


@fault("unused-input")
def unused_module_parameters(p: Program) -> None:
    """A layer of a module is not used by the output."""
    name = p.fresh("TwoHeads", "Net", "Model")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.a = {nn}.Linear(4, 2)\n"
            "        self.b = {nn}.Linear(4, 2)\n\n"
            "    def forward(self, x, use_b=False):\n"
            "        if use_b:\n"
            "            return self.b(x)\n"
            "        return self.a(x)"
        ),
        c=name,
    )
    m = p.let("{c}()", "net", "model", c=name)
    p.line(
        "loss = {m}({t}.randn(3, 4)).pow(2).mean()\ngrads = {e}",
        m=m,
        e=p.text(
            p.pick(
                "{autograd}.grad(loss, list({m}.parameters()))",
                "{autograd}.grad(loss, {m}.b.weight)",
                "{autograd}.grad(loss, [p for p in {m}.parameters()], create_graph=True)",
                "{autograd}.grad(loss, tuple({m}.parameters()))",
            ),
            m=m,
        ),
    )


@fault("unused-input")
def gradient_penalty_of_the_wrong_tensor(p: Program) -> None:
    """A gradient penalty differentiates with respect to points the critic never saw."""
    d = model(p, 4, 1, "critic", "D", "disc")
    p.line(
        "real, fake = {t}.randn(3, 4), {t}.randn(3, 4)\n"
        "alpha_ = {t}.rand(3, 1)\n"
        "mixed = alpha_ * real + (1 - alpha_) * fake"
    )
    form = p.pick(
        (
            "mixed.requires_grad_()\n"
            "score = {d}(alpha_ * real + (1 - alpha_) * fake)\n"
            "g = {autograd}.grad(score.sum(), mixed, create_graph=True)[0]"
        ),
        "score = {d}(mixed)\ng = {autograd}.grad(score.sum(), mixed, create_graph=True)[0]",
        ("score = {d}(mixed)\nmixed.requires_grad_()\ng = {autograd}.grad(score.sum(), mixed, create_graph=True)[0]"),
        (
            "mixed.requires_grad_()\n"
            "score = {d}(mixed.detach())\n"
            "g = {autograd}.grad(score.sum(), mixed, create_graph=True)[0]"
        ),
    )
    p.line(form, d=d)
    p.line("penalty = (g.norm(2, dim=1) - 1).pow(2).mean()\npenalty.backward()")


@legal("unused-input", 2)
def unused_allowed(p: Program) -> None:
    """An unused input is allowed, or all are used."""
    w, u = leaf(p), leaf(p)
    terms = p.pick(True, False)
    value = p.let("{e}", "loss", "out", e=scalar(p, derive(p, w)) + (" + " + scalar(p, u) if terms else ""))
    p.line(
        "ga, gu = {autograd}.grad({l}, [{w}, {u}]{o})",
        l=value,
        w=w,
        u=u,
        o="" if terms else ", allow_unused=True",
    )
    p.line("print(gu is None)")


@legal("unused-input")
def gradient_penalty(p: Program) -> None:
    """A gradient penalty of the points the critic saw."""
    d = model(p, 4, 1, "critic", "D", "disc")
    p.line(
        ("real, fake = {t}.randn(3, 4), {t}.randn(3, 4)\nalpha_ = {t}.rand(3, 1)\nmixed = {m}\nscore = {d}(mixed)"),
        d=d,
        m=p.text(
            p.pick(
                "(alpha_ * real + (1 - alpha_) * fake).requires_grad_()",
                "{t}.lerp(real, fake, alpha_).requires_grad_(True)",
                "(alpha_ * real + (1 - alpha_) * fake).detach().requires_grad_()",
            )
        ),
    )
    p.line(
        (
            "g = {autograd}.grad({o}, mixed, create_graph=True)[0]\n"
            "penalty = (g.norm(2, dim=1) - 1).pow(2).mean()\n"
            "(score.mean() + 10 * penalty).backward()"
        ),
        o="score.sum()",
    )


@legal("unused-input")
def gradient_of_a_result(p: Program) -> None:
    """The gradient of a result in the middle, or of an input made for it."""
    w = leaf(p)
    h = derive(p, w)
    value = p.let("{e}", "loss", "out", e=scalar(p, h))
    p.line(
        p.pick(
            "g = {autograd}.grad({l}, {h})[0]",
            "gh, gw = {autograd}.grad({l}, [{h}, {w}])",
            "g, = {autograd}.grad({l}, {h}, retain_graph=True)\n{l}.backward()",
        ),
        l=value,
        h=h,
        w=w,
    )


@legal("unused-input")
def gradient_of_input(p: Program) -> None:
    """The gradient of the loss with respect to the batch (an attack, a saliency map)."""
    m = model(p)
    x, y = batch(p, 4), targets(p, 2)
    p.line("{x}.requires_grad_()", x=x)
    p.line("loss = {e}", e=criterion(p, f"{m}({x})", str(y)))
    p.line(
        p.pick(
            "g = {autograd}.grad(loss, {x})[0]\nadv = {x} + 0.1 * g.sign()",
            "loss.backward()\nadv = ({x} + 0.1 * {x}.grad.sign()).detach()",
        ),
        x=x,
    )
    finish(p, Var(p.let("{m}({x}.detach())", "out2", m=m, x=x), (3, 2)))
