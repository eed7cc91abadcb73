"""What an optimizer is given."""

from __future__ import annotations

from ..networks import model, optimizer_text
from ..pieces import backward, derive, finish, leaf, loss
from ..program import Program
from .registry import fault, legal

NON_LEAVES = (
    "{t}.randn(3, requires_grad=True) * 0.1",
    "{t}.randn(3, 4, requires_grad=True).double()",
    "{t}.ones(3, requires_grad=True) / 2",
    "{t}.randn(3, requires_grad=True).to({t}.float64)",
    "{t}.zeros(4, requires_grad=True).view(2, 2)",
    "{nn}.Parameter({t}.randn(3)) * 0.01",
    "{t}.randn(2, 3, requires_grad=True).t()",
    "{t}.nn.Parameter({t}.ones(3)).clone()",
    "{t}.rand(3, requires_grad=True).reshape(3, 1)",
    "0.01 * {t}.randn(5, requires_grad=True)",
    "{t}.randn(3, requires_grad=True)[:2]",
    "-{t}.ones(2, requires_grad=True)",
    "{nn}.Linear(2, 2).weight[0]",
)


@fault("optimizer", 3)
def non_leaf(p: Program) -> None:
    """The optimizer gets the result of an operation on a leaf."""
    w = p.let(p.pick(*NON_LEAVES), "w", "weight", "theta", "x", "latent")
    o = p.let("{e}", "opt", "optimizer", e=optimizer_text(p, p.pick(f"[{w}]", f"({w},)", f"[{w}]")))
    p.line("loss = ({w} ** 2).sum()\n{o}.zero_grad()\nloss.backward()\n{o}.step()", w=w, o=o)


@fault("optimizer")
def some_non_leaf(p: Program) -> None:
    """One of several is no leaf."""
    w = leaf(p)
    y = derive(p, w)
    p.let(
        "{e}",
        "opt",
        "optimizer",
        e=optimizer_text(p, p.pick(f"[{w}, {y}]", f"[{y}]", f"list(({w}, {y}))", f"[t for t in ({w}, {y})]")),
    )
    finish(p, y)


@fault("optimizer", 2)
def empty_list(p: Program) -> None:
    """The list of parameters is empty."""
    e = p.pick(
        "[]",
        "list()",
        "[q for q in {m}.parameters() if not q.requires_grad]",
        "{nn}.ReLU().parameters()",
        "{nn}.Sequential({nn}.ReLU(), {nn}.Flatten()).parameters()",
        "filter(lambda q: not q.requires_grad, {m}.parameters())",
        "{nn}.Dropout(0.1).parameters()",
        "()",
        "[q for n, q in {m}.named_parameters() if 'adapter' in n]",
    )
    m = model(p) if "{m}" in e else None
    p.let("{e}", "opt", "optimizer", e=optimizer_text(p, p.text(e, m=m)))


@fault("optimizer", 2)
def layers_in_a_list(p: Program) -> None:
    """The layers stand in a plain list, so the module has no parameters."""
    name = p.fresh("MLP", "Stack", "Deep", "Net")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self, n=2):\n"
            "        super().__init__()\n"
            "        {s}\n\n"
            "    def forward(self, x):\n"
            "        for layer in self.layers{v}:\n"
            "            x = {t}.tanh(layer(x))\n"
            "        return x"
        ),
        c=name,
        **dict(
            zip(
                ("s", "v"),
                p.pick(
                    (p.text("self.layers = [{nn}.Linear(4, 4) for _ in range(n)]"), ""),
                    (
                        p.text(
                            "self.layers = []\n"
                            "        for _ in range(n):\n"
                            "            self.layers.append({nn}.Linear(4, 4))"
                        ),
                        "",
                    ),
                    (p.text("self.layers = {{'a': {nn}.Linear(4, 4), 'b': {nn}.Linear(4, 4)}}"), ".values()"),
                    (p.text("self.layers = ({nn}.Linear(4, 4), {nn}.Linear(4, 4))"), ""),
                ),
                strict=True,
            )
        ),
    )
    m = p.let("{c}()", "model", "net", c=name)
    o = p.let("{e}", "opt", "optimizer", e=optimizer_text(p, f"{m}.parameters()"))
    p.line("loss = {m}({t}.randn(2, 4)).pow(2).mean()\n{o}.zero_grad()\nloss.backward()\n{o}.step()", m=m, o=o)


@fault("optimizer")
def frozen_and_filtered(p: Program) -> None:
    """All parameters are frozen, and the filter leaves none."""
    m = model(p)
    p.line(p.pick("for p in {m}.parameters():\n    p.requires_grad = False", "{m}.requires_grad_(False)"), m=m)
    p.let(
        "{e}",
        "opt",
        "optimizer",
        e=optimizer_text(
            p,
            p.pick(
                f"filter(lambda p: p.requires_grad, {m}.parameters())",
                f"[p for p in {m}.parameters() if p.requires_grad]",
            ),
        ),
    )


@fault("optimizer")
def exhausted(p: Program) -> None:
    """A generator of parameters was used up before."""
    m = model(p)
    p.line(
        "params = {m}.parameters()\ncount = {c}",
        m=m,
        c=p.pick("sum(q.numel() for q in params)", "len(list(params))", "[q.shape for q in params]"),
    )
    p.let("{e}", "opt", "optimizer", e=optimizer_text(p, "params"))


@fault("optimizer")
def parameters_in_plain_attributes(p: Program) -> None:
    """A module holds tensors that require gradients but are no parameters."""
    name = p.fresh("Linear", "Affine", "Regression")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.w = {t}.randn(4, 2{g})\n"
            "        self.b = {t}.zeros(2{g})\n\n"
            "    def forward(self, x):\n"
            "        return x @ self.w + self.b"
        ),
        c=name,
        g=p.pick("", ", requires_grad=True"),
    )
    m = p.let("{c}()", "model", "lin", c=name)
    o = p.let("{e}", "opt", "optimizer", e=optimizer_text(p, f"{m}.parameters()"))
    p.line("{o}.zero_grad()\n{m}({t}.randn(3, 4)).sum().backward()", o=o, m=m)


@legal("optimizer", 3)
def right_parameters(p: Program) -> None:
    """The optimizer gets leaves."""
    w = leaf(p)
    o = p.let(
        "{e}",
        "opt",
        "optimizer",
        e=optimizer_text(p, p.pick(f"[{w}]", f"({w},)", f"[{w}]", f"[t for t in ({w},)]")),
    )
    with p.block(p.pick("for _ in range(2):", "for step in range(3):")):
        value = loss(p, derive(p, w))
        p.line("{o}.zero_grad()", o=o)
        backward(p, value)
        p.line("{o}.step()", o=o)


@legal("optimizer", 2)
def leaf_made_right(p: Program) -> None:
    """The scaled or converted tensor becomes a leaf at the end."""
    w = p.let(
        p.pick(
            "({t}.randn(3) * 0.1).requires_grad_()",
            "{nn}.Parameter({t}.randn(3) / 2)",
            "{t}.randn(3, dtype={t}.float64, requires_grad=True)",
            "{t}.randn(3).double().requires_grad_()",
            "{t}.randn(3, requires_grad=True).to({t}.float32)",
            "{t}.randn(4).view(2, 2).requires_grad_()",
            "{t}.randn(3, requires_grad=True).float()",
            "{t}.randn(3, requires_grad=True).cpu()",
            "({t}.randn(3, requires_grad=True) * 0.1).detach().requires_grad_()",
        ),
        "w",
        "weight",
        "theta",
        "latent",
    )
    o = p.let("{e}", "opt", "optimizer", e=optimizer_text(p, f"[{w}]"))
    p.line("loss = ({w} ** 2).sum()\n{o}.zero_grad()\nloss.backward()\n{o}.step()", w=w, o=o)


@legal("optimizer", 2)
def module_list(p: Program) -> None:
    """The layers stand in a ModuleList, or were added by name."""
    name = p.fresh("MLP", "Stack", "Deep", "Net")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self, n=2):\n"
            "        super().__init__()\n"
            "        {s}\n\n"
            "    def forward(self, x):\n"
            "        for layer in self.layers:\n"
            "            x = {t}.tanh(layer(x))\n"
            "        return x"
        ),
        c=name,
        s=p.text(
            p.pick(
                "self.layers = {nn}.ModuleList([{nn}.Linear(4, 4) for _ in range(n)])",
                (
                    "self.layers = {nn}.ModuleList()\n"
                    "        for _ in range(n):\n"
                    "            self.layers.append({nn}.Linear(4, 4))"
                ),
                (
                    "self.layers = []\n"
                    "        for i in range(n):\n"
                    "            self.layers.append({nn}.Linear(4, 4))\n"
                    "            self.add_module(f'fc{{i}}', self.layers[-1])"
                ),
                "self.layers = {nn}.Sequential(*[{nn}.Linear(4, 4) for _ in range(n)])",
            )
        ),
    )
    m = p.let("{c}()", "model", "net", c=name)
    o = p.let("{e}", "opt", "optimizer", e=optimizer_text(p, f"{m}.parameters()"))
    p.line("loss = {m}({t}.randn(2, 4)).pow(2).mean()\n{o}.zero_grad()\nloss.backward()\n{o}.step()", m=m, o=o)


@legal("optimizer")
def groups(p: Program) -> None:
    """Parameters come in groups, filtered or combined."""
    a, b = model(p, 4, 3), model(p, 3, 2)
    o = p.let(
        p.pick(
            ("{optim}.SGD([{{'params': {a}.parameters()}}, {{'params': {b}.parameters(), 'lr': 0.01}}], lr=0.1)"),
            "{optim}.Adam(list({a}.parameters()) + list({b}.parameters()), lr=1e-3)",
            "{optim}.SGD([*{a}.parameters(), *{b}.parameters()], lr=0.1)",
            "{optim}.Adam(filter(lambda p: p.requires_grad, {a}.parameters()), lr=1e-3)",
            "{optim}.AdamW([p for p in {a}.parameters() if p.dim() > 1])",
        ),
        "opt",
        "optimizer",
        a=a,
        b=b,
    )
    p.line(
        "loss = {b}({a}({t}.randn(2, 4))).pow(2).mean()\n{o}.zero_grad()\nloss.backward()\n{o}.step()",
        a=a,
        b=b,
        o=o,
    )
