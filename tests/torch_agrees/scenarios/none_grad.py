""".grad used where it is None."""

from __future__ import annotations

from ..networks import model, optimizer
from ..pieces import derive, finish, leaf, rate
from ..program import Program
from .registry import fault, legal


@fault("none-grad", 3)
def gradient_before_backward(p: Program) -> None:
    """.grad is used before any backward."""
    w = leaf(p)
    p.line(
        p.pick(
            "{w}.grad.zero_()",
            "{w}.grad.data.zero_()",
            "{w} = {w} - {lr} * {w}.grad",
            "with {t}.no_grad():\n    {w} -= {lr} * {w}.grad",
            "norm = {w}.grad.norm()",
            "{w}.data -= {lr} * {w}.grad",
            "{w}.data.add_({w}.grad, alpha=-0.1)",
            "print({w}.grad.abs().max())",
            "{w}.data = {w}.data - {lr} * {w}.grad.data",
            "g = {w}.grad + 1",
            "clipped = {w}.grad.clamp(-1, 1)",
            "total = {w}.grad.sum().item()",
            "g = {w}.grad.clone()",
            "m_ = 0.9 * 0 + 0.1 * {w}.grad",
        ),
        w=w,
        lr=rate(p),
    )
    finish(p, derive(p, w))


@fault("none-grad", 2)
def gradient_of_unused(p: Program) -> None:
    """A leaf that the loss does not use is updated with the others."""
    w, u = leaf(p, (3,)), leaf(p, (3,))
    finish(p, derive(p, w))
    params = p.let("[{w}, {u}]", "params", "weights", w=w, u=u)
    form = p.pick(
        "with {t}.no_grad():\n    for q in {l}:\n        q -= 0.1 * q.grad",
        "for q in {l}:\n    q.data.sub_(0.1 * q.grad)",
        "for q in {l}:\n    q.grad.zero_()",
        "norms = [q.grad.norm() for q in {l}]",
        "total = sum(q.grad.pow(2).sum() for q in {l})",
        "for i, q in enumerate({l}):\n    print(i, q.grad.mean().item())",
        "flat = {t}.cat([q.grad.view(-1) for q in {l}])",
        "gs = {t}.stack([q.grad for q in {l}])",
    )
    p.line(form, l=params)


@fault("none-grad", 2)
def gradient_after_zero_grad(p: Program) -> None:
    """zero_grad has set the gradients to None."""
    m = model(p)
    o = optimizer(p, f"{m}.parameters()")
    finish(p, p.tensor((3, 2), "{m}({t}.randn(3, 4))", m=m))
    p.line("{z}.zero_grad()", z=p.pick(o, str(m)))
    p.line(
        p.pick(
            "total = sum(p.grad.norm() for p in {m}.parameters())",
            "for p in {m}.parameters():\n    print(p.grad.abs().mean())",
            "for name, p in {m}.named_parameters():\n    norm = p.grad.data.norm(2)",
            "for p in {m}.parameters():\n    p.grad.clamp_(-1, 1)",
            "grads = [p.grad.clone() for p in {m}.parameters()]",
            "g = {t}.cat([p.grad.flatten() for p in {m}.parameters()])",
            "for p in {m}.parameters():\n    p.data -= 0.1 * p.grad",
        ),
        m=m,
    )


@fault("none-grad")
def gradient_of_frozen(p: Program) -> None:
    """The gradient of a frozen layer is used."""
    m = p.let("{nn}.Sequential({nn}.Linear(4, 3), {nn}.Tanh(), {nn}.Linear(3, 1))", "model", "net")
    p.line(
        p.pick(
            "for p in {m}[0].parameters():\n    p.requires_grad = False",
            "{m}[0].requires_grad_(False)",
            "{m}[0].weight.requires_grad_(False)",
        ),
        m=m,
    )
    p.line(
        "{m}({t}.randn(2, 4)).sum().backward()\n{u}",
        m=m,
        u=p.text(
            p.pick(
                "for p in {m}.parameters():\n    p.grad.mul_(0.5)",
                "print({m}[0].weight.grad.norm())",
                "norm = {m}[0].weight.grad.abs().sum().item()",
                "total = sum(p.grad.norm().item() for p in {m}.parameters())",
            ),
            m=m,
        ),
    )


@fault("none-grad", 2)
def gradient_after_rebinding(p: Program) -> None:
    """The name was bound to a new leaf, whose gradient is None."""
    w = leaf(p, p.pick((3,), (4,)))
    p.line(
        "loss = ({w} ** 2).sum()\nloss.backward()\nwith {t}.no_grad():\n    {w} = {w} - {lr} * {w}.grad",
        w=w,
        lr=rate(p),
    )
    p.line(
        p.pick(
            "{w}.grad.zero_()",
            "{w}.requires_grad_()\n{w}.grad.zero_()",
            "{w}.requires_grad = True\nprint({w}.grad.norm())",
        ),
        w=w,
    )


@fault("none-grad")
def gradient_of_detached_copy(p: Program) -> None:
    """The copy is updated, the gradient went to the original."""
    w = leaf(p)
    c = p.let(
        p.pick(
            "{w}.detach()",
            "{w}.detach().clone().requires_grad_()",
            "{w}.data",
            "{nn}.Parameter({w}.detach())",
            "{w}.clone().detach()",
        ),
        "c",
        "fast",
        "copy_",
        "shadow",
        w=w,
    )
    finish(p, derive(p, w))
    p.line(
        p.pick(
            "updated = {c} - 0.1 * {c}.grad",
            "{c}.grad.zero_()",
            "print({c}.grad.norm())",
            "with {t}.no_grad():\n    {c} -= 0.1 * {c}.grad",
        ),
        c=c,
    )


@legal("none-grad", 2)
def gradient_checked(p: Program) -> None:
    """A gradient is used only if there is one."""
    w, u = leaf(p, (3,)), leaf(p, (3,))
    finish(p, derive(p, w))
    params = p.let("[{w}, {u}]", "params", "weights", w=w, u=u)
    p.line(
        p.pick(
            "for q in {l}:\n    if q.grad is not None:\n        q.grad.zero_()",
            "for q in {l}:\n    if q.grad is None:\n        continue\n    q.data.sub_(0.1 * q.grad)",
            "norms = [q.grad.norm() for q in {l} if q.grad is not None]",
            ("with {t}.no_grad():\n    for q in {l}:\n        q -= 0.1 * (q.grad if q.grad is not None else 0)"),
        ),
        l=params,
    )


@legal("none-grad", 2)
def gradient_after_backward(p: Program) -> None:
    """The gradient is there when it is used."""
    w = leaf(p)
    with p.block("for _ in range(2):"):
        p.line("if {w}.grad is not None:\n    {w}.grad.zero_()" if p.chance(0.6) else "{w}.grad = None", w=w)
        finish(p, derive(p, w))
        p.line(
            p.pick(
                "with {t}.no_grad():\n    {w} -= 0.1 * {w}.grad",
                "{w}.data -= 0.1 * {w}.grad",
                "print({w}.grad.norm().item())",
            ),
            w=w,
        )


@legal("none-grad")
def gradients_kept_as_zeros(p: Program) -> None:
    """zero_grad(set_to_none=False) keeps tensors, and fresh gradients come from backward."""
    m = model(p)
    o = optimizer(p, f"{m}.parameters()")
    finish(p, p.tensor((3, 2), "{m}({t}.randn(3, 4))", m=m))
    p.line(p.pick("{o}.zero_grad(set_to_none=False)", "{m}.zero_grad(set_to_none=False)", "{o}.step()"), o=o, m=m)
    p.line(
        p.pick(
            "total = sum(p.grad.norm() for p in {m}.parameters())",
            "for p in {m}.parameters():\n    p.grad.clamp_(-1, 1)",
            "{t}.nn.utils.clip_grad_norm_({m}.parameters(), 1.0)",
        ),
        m=m,
    )


@legal("none-grad")
def rebound_with_new_leaf(p: Program) -> None:
    """The update makes a new leaf each turn."""
    w = leaf(p, (3,))
    with p.block("for _ in range(3):"):
        p.line(
            ("loss = ({w} ** 2).sum()\nloss.backward()\n{w} = ({w} - 0.1 * {w}.grad).detach().requires_grad_()"),
            w=w,
        )
