"""What hooks return, and which hooks a module can have at once."""

from __future__ import annotations

from ..networks import batch, model
from ..pieces import derive, finish, leaf
from ..program import Program
from .registry import fault, legal


@fault("hook-result", 2)
def hook_changes_the_gradient(p: Program) -> None:
    """A hook of a tensor returns what is no gradient of it."""
    w = leaf(p, (3,))
    y = derive(p, w)
    bad = p.pick("g[:2]", "g.sum().item()", "g.long()", "(g, g)", "2.0")
    hook = f"lambda g: {bad}"
    if p.chance(0.4):
        hook = p.fresh("hook", "on_grad", "scale_grad")
        p.define("def {n}(g):\n    print(g.norm())\n    return {e}", n=hook, e=bad)
    p.line("{y}.register_hook({h})", y=p.pick(w, y), h=hook)
    finish(p, y)


@fault("hook-result", 2)
def full_hook_returns_too_much(p: Program) -> None:
    """A full backward hook returns another number of gradients, or a number."""
    m = model(p)
    x = batch(p, 4)
    p.line("{x}.requires_grad_()", x=x)
    p.line(
        p.pick(
            "{m}.register_full_backward_hook(lambda mod, gi, go: gi + gi)",
            "{m}.register_full_backward_hook(lambda mod, grad_in, grad_out: (grad_in[0], grad_in[0]))",
            "{m}.register_full_backward_pre_hook(lambda mod, go: (go[0], go[0]))",
        ),
        m=m,
    )
    finish(p, p.tensor((3, 2), "{m}({x})", m=m, x=x))


@fault("hook-result")
def both_kinds_of_hooks(p: Program) -> None:
    """A module cannot have hooks of the old and of the new kind."""
    m = model(p)
    first = "{m}.register_backward_hook(lambda mod, gi, go: None)"
    second = "{m}.register_full_backward_hook(lambda mod, gi, go: None)"
    p.line("\n".join((first, second) if p.chance(0.5) else (second, first)), m=m)
    finish(p, p.tensor((3, 2), "{m}({x})", m=m, x=batch(p, 4)))


@legal("hook-result", 2)
def hook_returns_a_gradient(p: Program) -> None:
    """A hook of a tensor returns nothing, or a gradient of the same shape."""
    w = leaf(p, (3,))
    y = derive(p, w)
    hook = p.pick("lambda g: g * 0.5", "lambda g: g.clamp(-1, 1)", "lambda g: None", "lambda g: g.clone()", "print")
    p.line("{y}.register_hook({h})", y=p.pick(w, y), h=hook)
    finish(p, y)


@legal("hook-result", 2)
def full_hook(p: Program) -> None:
    """A full backward hook looks, or returns as many gradients as there are."""
    m = model(p)
    x = batch(p, 4)
    p.line("{x}.requires_grad_()", x=x)
    p.line(
        p.pick(
            "{m}.register_full_backward_hook(lambda mod, gi, go: (gi[0] * 2,))",
            "{m}.register_full_backward_hook(lambda mod, gi, go: None)",
            "{m}.register_full_backward_pre_hook(lambda mod, go: (go[0] * 0.5,))",
            "{m}.register_forward_pre_hook(lambda mod, args: (args[0] * 2,))",
            "{m}.register_forward_hook(lambda mod, args, out: out * 0.5)",
        ),
        m=m,
    )
    finish(p, p.tensor((3, 2), "{m}({x})", m=m, x=x))
