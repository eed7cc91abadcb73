"""Hooks and retain_grad on tensors that have no gradient."""

from __future__ import annotations

from ..deliver import write
from ..networks import batch, model
from ..pieces import data, derive, finish, fresh_result, leaf
from ..program import Program
from .registry import fault, legal

HOOKS = (
    "{y}.register_hook(lambda g: g * 2)",
    "{y}.register_hook(lambda grad: print(grad.shape))",
    "handle = {y}.register_hook(lambda g: None)",
    "{y}.register_hook(print)",
    "grads = []\n{y}.register_hook(grads.append)",
    "{y}.register_hook(lambda g: g.clamp(-1, 1))",
)


@fault("hook", 3)
def hook_on_data(p: Program) -> None:
    """A hook or retain_grad on a tensor without gradient."""
    x = (
        data(p)
        if p.chance(0.5)
        else p.tensor(
            (3,),
            p.pick("{w}.detach()", "{w}.data", "({w} > 0).float()", "{t}.ones_like({w})", "{w}.detach().clone()"),
            "d",
            "frozen",
            "fixed",
            w=leaf(p, (3,)),
        )
    )
    p.line(p.pick(*HOOKS, "{y}.retain_grad()", "{y}.retain_grad()", "{y}.retain_grad()"), y=x)
    finish(p, p.tensor(x.shape, "{w} * {x}", w=leaf(p, x.shape), x=x))


@fault("hook")
def hook_under_no_grad(p: Program) -> None:
    """The activation was computed under no_grad."""
    m = model(p)
    p.line(
        "with {t}.no_grad():\n    act = {m}({t}.randn(3, 4))\n{h}\nprint(act.mean())",
        m=m,
        h=p.text(p.pick(*HOOKS, "act.retain_grad()", "act.retain_grad()"), y="act"),
    )


@fault("hook")
def hook_in_helper(p: Program) -> None:
    """A helper registers hooks on everything it is given."""
    name = p.fresh("watch", "add_hooks", "track", "monitor")
    p.define(
        "def {f}(tensors):\n    for t in tensors:\n        {h}",
        f=name,
        h=p.pick("t.retain_grad()", "t.register_hook(lambda g: g)", "t.register_hook(lambda g: g * 0.5)"),
    )
    w, x = leaf(p, (3,)), data(p, (3,))
    y = p.let("{w} * {x}", "y", w=w, x=x)
    p.line("{f}([{y}, {x}])\n{y}.sum().backward()", f=name, x=x, y=y)


@fault("hook")
def retain_in_forward(p: Program) -> None:
    """A module retains the gradient of its input, which is data."""
    name = p.fresh("GradCam", "Probe", "Net")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.fc = {nn}.Linear(4, 2)\n\n"
            "    def forward(self, x):\n"
            "        {h}\n"
            "        self.saved = x\n"
            "        return self.fc(x)"
        ),
        c=name,
        h=p.pick("x.retain_grad()", "x.register_hook(self.save)\n", "x.register_hook(lambda g: None)").rstrip("\n"),
    )
    m = p.let("{c}()", "m", "net", c=name)
    if p.definitions[-1].count("self.save)"):
        p.definitions[-1] += "\n\n    def save(self, g):\n        self.g = g"
    finish(p, p.tensor((3, 2), "{m}({t}.randn(3, 4))", m=m))


@fault("hook")
def accumulate_hook_on_result(p: Program) -> None:
    """A post-accumulate hook belongs to a leaf."""
    y = fresh_result(p, leaf(p))
    p.line("{y}.register_post_accumulate_grad_hook({f})", y=y, f=p.pick("lambda q: None", "print"))
    finish(p, y)


@legal("hook", 3)
def hook_on_result(p: Program) -> None:
    """Hooks and retain_grad on tracked tensors."""
    w = leaf(p)
    y = derive(p, w)
    p.line(
        p.pick(
            *HOOKS,
            "{y}.retain_grad()",
            "{y}.retain_grad()",
            "{w}.retain_grad()",
            "{w}.register_post_accumulate_grad_hook(lambda q: None)",
        ),
        y=p.pick(y, w),
        w=w,
    )
    finish(p, y)


@legal("hook")
def module_hooks(p: Program) -> None:
    """Hooks on modules are legal, and input that requires gradients may keep them."""
    m = model(p)
    x = batch(p, 4)
    p.line(
        p.pick(
            "{m}.register_forward_hook(lambda mod, i, o: None)",
            "{x}.requires_grad_()\n{x}.retain_grad()",
            "{x}.requires_grad_()\n{x}.register_hook(lambda g: g)",
            "if {x}.requires_grad:\n    {x}.retain_grad()",
            "feats = {{}}\n{m}.register_forward_hook(lambda mod, i, o: feats.update(o=o.detach()))",
        ),
        m=m,
        x=x,
    )
    finish(p, p.tensor((3, 2), "{m}({x})", m=m, x=x))


@legal("hook")
def watched_data_checked(p: Program) -> None:
    """Gradients are kept only where they exist."""
    w, x = leaf(p, (3,)), data(p, (3,))
    write(p, x)
    y = p.let("{w} * {x}", "y", w=w, x=x)
    p.line(
        "for t in [{y}, {x}]:\n    if t.requires_grad:\n        t.retain_grad()\n{y}.sum().backward()",
        y=y,
        x=x,
    )
