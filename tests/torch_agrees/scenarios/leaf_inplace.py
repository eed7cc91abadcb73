"""Writes into leaves that require gradients, and the ways to do it right."""

from __future__ import annotations

from ..deliver import write
from ..networks import batch, criterion, model, targets
from ..pieces import (
    backward,
    data,
    derive,
    finish,
    leaf,
    no_grad,
    rate,
    writing,
)
from ..program import Program
from .registry import fault, legal

UPDATES = (
    "{w} -= {lr} * {w}.grad",
    "{w}.sub_({lr} * {w}.grad)",
    "{w}.add_({w}.grad, alpha=-{lr})",
    "{w}.add_(-{lr} * {w}.grad)",
    "{w} += -{lr} * {w}.grad",
    "{w}.copy_({w} - {lr} * {w}.grad)",
    "{w}.mul_(1 - {lr}).sub_({lr} * {w}.grad)",
)


@fault("leaf-inplace", 3)
def written_leaf(p: Program) -> None:
    """A leaf is written after it was made."""
    w = leaf(p)
    if p.chance(0.5):
        finish(p, derive(p, w))
    write(p, w)
    finish(p, w)


@fault("leaf-inplace", 2)
def manual_update(p: Program) -> None:
    """Gradient descent by hand that forgets no_grad."""
    w = leaf(p)
    x = data(p, w.shape)
    with p.block(p.pick("for step in range(3):", "for _ in range(2):", "for epoch in range(2):")):
        value = p.let("(({w} - {x}) ** 2).mean()", "loss", "l", "cost", w=w, x=x)
        backward(p, value)
        p.line(p.pick(*UPDATES), w=w, lr=rate(p))
        p.line(p.pick("{w}.grad.zero_()", "{w}.grad = None"), w=w)


@fault("leaf-inplace", 2)
def module_parameters(p: Program) -> None:
    """The parameters of a module are updated without no_grad."""
    m = model(p)
    x = batch(p, 4)
    y = targets(p, 2)
    value = p.let("{e}", "loss", "l", e=criterion(p, f"{m}({x})", str(y)))
    backward(p, value)
    header = p.pick(
        "for p in {m}.parameters():",
        "for name, p in {m}.named_parameters():",
        "for p in list({m}.parameters()):",
    )
    with p.block(header, m=m):
        p.line(p.pick(*UPDATES), w="p", lr=rate(p))


@fault("leaf-inplace")
def written_in_forward(p: Program) -> None:
    """A module changes its parameter in forward."""
    name = p.fresh("Scaled", "Gate", "Layer", "Head")
    p.define(
        "class {c}({nn}.Module):\n    def __init__(self, dim=4):\n        super().__init__()\n"
        "        self.{a} = {nn}.Parameter({t}.ones(dim))\n\n"
        "    def forward(self, x):\n        {w}\n        return x * self.{a}",
        c=name,
        a=(attribute := p.pick("scale", "gain", "weight", "gamma")),
        w=writing(p, f"self.{attribute}", 0),
    )
    m = p.let("{c}()", "layer", "m", "module", c=name)
    finish(p, p.tensor((3, 4), "{m}({t}.randn(3, 4))", m=m))


@fault("leaf-inplace")
def written_in_init(p: Program) -> None:
    """A module initialises its parameter in place, with grad mode on."""
    name = p.fresh("Embed", "Bilinear", "Layer", "Mixer")
    p.define(
        "class {c}({nn}.Module):\n    def __init__(self, dim=4):\n        super().__init__()\n"
        "        self.w = {nn}.Parameter({t}.empty(dim, dim))\n        self.{r}()\n\n"
        "    def {r}(self):\n        {w}\n\n"
        "    def forward(self, x):\n        return x @ self.w",
        c=name,
        r=p.pick("reset_parameters", "reset", "init_weights", "_init"),
        w=p.pick("self.w.uniform_(-0.1, 0.1)", "self.w.normal_(0, 0.02)", "self.w.fill_(0.1)", "self.w.zero_()"),
    )
    m = p.let("{c}()", "layer", "m", "module", c=name)
    finish(p, p.tensor((3, 4), "{m}({t}.randn(3, 4))", m=m))


@fault("leaf-inplace")
def clipped_weights(p: Program) -> None:
    """The weights of a layer are clipped or decayed by attribute."""
    m = p.let("{nn}.Linear(4, 2)", "layer", "fc", "linear", "head")
    x = batch(p, 4)
    finish(p, p.tensor((3, 2), "{m}({x})", "out", "y", m=m, x=x))
    p.line("{w}", w=writing(p, f"{m}.{p.pick('weight', 'bias')}", 0))
    finish(p, p.tensor((3, 2), "{m}({x})", "out", "y", m=m, x=x))


@fault("leaf-inplace")
def listed_leaves(p: Program) -> None:
    """Several leaves in a list are updated in a loop."""
    first, second = leaf(p, (4, 3)), leaf(p, (3,))
    params = p.let("[{a}, {b}]", "params", "weights", "parameters", a=first, b=second)
    x = data(p, (2, 4))
    finish(p, p.tensor((2, 3), "{x} @ {a} + {b}", "out", "pred", x=x, a=first, b=second))
    with p.block(
        p.pick("for p in {l}:", "for i, p in enumerate({l}):", "for p, lr in zip({l}, [0.1, 0.01]):"),
        l=params,
    ):
        p.line(p.pick(*UPDATES), w="p", lr="0.1")


@fault("leaf-inplace")
def step_function(p: Program) -> None:
    """A helper updates a parameter but lacks the decorator."""
    name = p.fresh("sgd_step", "update", "apply_gradient", "step_")
    p.define(
        (
            "def {f}(params, lr=0.1):\n"
            "    for w in params:\n"
            "        if w.grad is None:\n"
            "            continue\n"
            "        {u}\n"
            "        w.grad = None"
        ),
        f=name,
        u=p.text(p.pick(*UPDATES), w="w", lr="lr"),
    )
    w = leaf(p)
    finish(p, derive(p, w))
    p.line(p.pick("{f}([{w}])", "{f}([{w}], lr=0.05)", "{f}(({w},), 0.01)"), f=name, w=w)


@legal("leaf-inplace", 3)
def written_without_grad_mode(p: Program) -> None:
    """The same writes under no_grad."""
    w = leaf(p)
    finish(p, derive(p, w))
    with no_grad(p):
        write(p, w)
        if p.chance(0.5):
            p.line(p.pick("{w}.grad.zero_()", "{w}.grad = None"), w=w)
    finish(p, derive(p, w))


@legal("leaf-inplace", 2)
def right_manual_update(p: Program) -> None:
    """Gradient descent by hand under no_grad, or by an optimizer."""
    w = leaf(p)
    x = data(p, w.shape)
    with p.block(p.pick("for step in range(3):", "for _ in range(2):", "for epoch in range(2):")):
        value = p.let("(({w} - {x}) ** 2).mean()", "loss", "l", "cost", w=w, x=x)
        backward(p, value)
        with no_grad(p):
            p.line(p.pick(*UPDATES), w=w, lr=rate(p))
        p.line(p.pick("{w}.grad.zero_()", "{w}.grad = None"), w=w)


@legal("leaf-inplace")
def decorated_update(p: Program) -> None:
    """A helper with the decorator updates the parameters."""
    name = p.fresh("sgd_step", "update", "apply_gradient", "step_")
    p.define(
        (
            "@{t}.no_grad()\n"
            "def {f}(params, lr=0.1):\n"
            "    for w in params:\n"
            "        if w.grad is None:\n"
            "            continue\n"
            "        {u}\n"
            "        w.grad = None"
        ),
        f=name,
        u=p.text(p.pick(*UPDATES), w="w", lr="lr"),
    )
    w = leaf(p)
    finish(p, derive(p, w))
    p.line("{f}([{w}])", f=name, w=w)


@legal("leaf-inplace")
def initialised(p: Program) -> None:
    """torch.nn.init works under no_grad by itself."""
    w = leaf(p, p.pick((3, 4), (4, 4), (2, 3)))
    p.line(
        p.pick(
            "{init}.xavier_uniform_({w})",
            "{init}.zeros_({w})",
            "{init}.normal_({w}, std=0.02)",
            "{init}.kaiming_normal_({w})",
            "{init}.constant_({w}, 0.1)",
            "{init}.uniform_({w}, -1, 1)",
        ),
        w=w,
    )
    finish(p, derive(p, w))


@legal("leaf-inplace")
def initialised_module(p: Program) -> None:
    """A model's weights are set by init functions or under no_grad."""
    m = model(p)
    name = p.fresh("init_weights", "reset", "weights_init")
    p.define(
        (
            "def {f}(m):\n"
            "    if isinstance(m, {nn}.Linear):\n"
            "        {init}.normal_(m.weight, 0.0, 0.02)\n"
            "        if m.bias is not None:\n"
            "            {init}.zeros_(m.bias)"
        ),
        f=name,
    )
    p.line("{m}.apply({f})", m=m, f=name)
    finish(p, p.tensor((3, 2), "{m}({t}.randn(3, 4))", m=m))


@legal("leaf-inplace", 2)
def written_before_it_needs_gradients(p: Program) -> None:
    """A buffer is filled first and asked to require gradients afterwards."""
    x = data(p)
    write(p, x)
    p.line(p.pick("{x}.requires_grad_()", "{x}.requires_grad = True", "{x}.requires_grad_(True)"), x=x)
    finish(p, derive(p, x))


@legal("leaf-inplace")
def written_copy(p: Program) -> None:
    """A clone of a leaf is written before it is used."""
    w = leaf(p)
    c = p.tensor(
        w.shape,
        p.pick("{w}.clone()", "{w}.clone() * 1", "{w} + 0", "{w}.mul(1)", "{t}.clone({w})"),
        "c",
        "copy_",
        "buf",
        "new",
        w=w,
    )
    write(p, c)
    finish(p, c)


@legal("leaf-inplace")
def written_frozen(p: Program) -> None:
    """A leaf no longer requires gradients when it is written."""
    w = leaf(p)
    finish(p, derive(p, w))
    p.line(p.pick("{w}.requires_grad_(False)", "{w}.requires_grad = False", "{w} = {w}.detach()"), w=w)
    write(p, w)
    p.line("print({w}.sum().item())", w=w)


@legal("leaf-inplace")
def updated_data(p: Program) -> None:
    """A leaf is updated through .data once its gradient is there."""
    w = leaf(p)
    with p.block("for _ in range(2):"):
        finish(p, derive(p, w))
        p.line(
            p.pick(
                "{w}.data -= {lr} * {w}.grad",
                "{w}.data.sub_({lr} * {w}.grad)",
                "{w}.data = {w}.data - {lr} * {w}.grad",
                "{w}.data.add_({w}.grad.data, alpha=-{lr})",
            ),
            w=w,
            lr=rate(p),
        )
        p.line(p.pick("{w}.grad.zero_()", "{w}.grad.data.zero_()", "{w}.grad = None"), w=w)


@legal("leaf-inplace")
def rebound_product(p: Program) -> None:
    """`w = w * 2` makes a new tensor, which may be changed."""
    w = leaf(p)
    y = p.tensor(w.shape, p.pick("{w} * 2", "{w} + 1", "{w} - 0.1"), "y", "w_new", "scaled", w=w)
    write(p, y)
    finish(p, y)
