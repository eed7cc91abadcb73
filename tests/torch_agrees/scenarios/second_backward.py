"""Graphs walked twice."""

from __future__ import annotations

from ..catalogue import SAVING_INPUT, SAVING_NOTHING, SAVING_OUTPUT, SMOOTH
from ..networks import batch, criterion, model, optimizer, targets
from ..pieces import apply, backward, derive, leaf, loss, plain_sum
from ..program import Program
from .registry import fault, legal

SAVING = (*SAVING_INPUT, *SAVING_OUTPUT)


@fault("second-backward", 3)
def twice(p: Program) -> None:
    """backward is called twice on a loss, or on two losses of one result."""
    w = leaf(p)
    y = apply(p, w, SAVING)
    first = loss(p, y)
    second = first if p.chance(0.5) else loss(p, y)
    backward(p, first)
    if p.chance(0.4):
        p.line(p.pick("print({w}.grad)", "{w}.grad = None", "{w}.grad.zero_()", "g1 = {w}.grad.clone()"), w=w)
    backward(p, second)


@fault("second-backward", 2)
def forward_before_the_loop(p: Program) -> None:
    """The forward pass stands before the loop, backward in it."""
    m = model(p, 4, 2)
    x, y = batch(p, 4), targets(p, 2)
    o = optimizer(p, f"{m}.parameters()")
    out = p.let("{m}({x})", "out", "pred", "y_pred", m=m, x=x)
    with p.block(p.pick("for epoch in range(3):", "for _ in range(2):", "for step in range(5):")):
        value = p.let("{e}", "loss", "l", e=criterion(p, out, str(y)))
        if p.chance(0.7):
            p.line("{o}.zero_grad()", o=o)
        p.line("{l}.backward()", l=value)
        if p.chance(0.5):
            p.line("print({l}.item())", l=value)


@fault("second-backward", 2)
def state_not_detached(p: Program) -> None:
    """A recurrent state carries its graph into the next turn."""
    make, call = p.pick(
        ("{nn}.GRUCell(4, 4)", "{c}({t}.ones(2, 4), {h})"),
        ("{nn}.RNNCell(4, 4)", "{c}({t}.randn(2, 4), {h})"),
        ("{nn}.Linear(8, 4)", "{t}.tanh({c}({t}.cat([{t}.ones(2, 4), {h}], dim=1)))"),
    )
    cell = p.let(make, "cell", "rnn")
    o = optimizer(p, f"{cell}.parameters()") if p.chance(0.5) else None
    h = p.let("{t}.zeros(2, 4)", "h", "hidden", "state")
    with p.block(
        p.pick(
            "for step in range(3):",
            "for x in {t}.randn(3, 2, 4):",
            "for x in [{t}.randn(2, 4) for _ in range(3)]:",
        )
    ):
        p.line("{h} = {e}", h=h, e=p.text(call, c=cell, h=h))
        if o:
            p.line("{o}.zero_grad()", o=o)
        p.line(p.pick("{h}.sum().backward()", "loss = {h}.pow(2).mean()\nloss.backward()"), h=h)


@fault("second-backward", 2)
def common_subgraph(p: Program) -> None:
    """Two losses share a part that kept something."""
    w, u = leaf(p), leaf(p)
    h = apply(p, w, SAVING, "h", "shared", "feat", "emb")
    a, b = loss(p, derive(p, h)), loss(p, h)
    p.line("{a}.backward()\n({b} + {u}.sum()).backward()", a=a, b=b, u=u)


@fault("second-backward")
def running_sum(p: Program) -> None:
    """A sum of losses goes backward in every turn."""
    w = leaf(p)
    total = p.let(p.pick("0", "0.0", "{t}.tensor(0.0)"), "total", "running_loss", "loss_sum", "acc")
    with p.block(p.pick("for i in range(3):", "for scale in [1.0, 0.5]:")):
        p.line(
            p.pick("{s} = {s} + ({w} ** 2).sum()", "{s} += ({w}.exp()).mean()", "{s} = {s} + {w}.sigmoid().sum()"),
            s=total,
            w=w,
        )
        p.line("{s}.backward()", s=total)


@fault("second-backward")
def grad_then_backward(p: Program) -> None:
    """grad frees the graph that backward then needs."""
    w = leaf(p)
    value = loss(p, apply(p, w, SAVING))
    first = p.pick("g = {autograd}.grad({l}, {w})[0]", "g, = {autograd}.grad({l}, [{w}])", "{l}.backward()")
    second = p.pick(
        "{l}.backward()", "g2 = {autograd}.grad({l}, {w})", "({l} * 2).backward()", "{autograd}.backward({l})"
    )
    p.line(first + "\n" + second, l=value, w=w)


@fault("second-backward")
def cached_features(p: Program) -> None:
    """A module keeps its features, and the second call uses the old graph."""
    name = p.fresh("Cached", "Model", "Memo", "Encoder")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.fc = {nn}.Linear(4, 3)\n"
            "        self.cache = None\n\n"
            "    def forward(self, x):\n"
            "        if self.cache is None:\n"
            "            self.cache = {f}\n"
            "        return self.cache.sum()"
        ),
        c=name,
        f=p.text(
            p.pick(
                "{t}.tanh(self.fc(x))",
                "self.fc(x) ** 2",
                "self.fc(x).exp()",
                "{F}.softmax(self.fc(x), dim=1).log()",
            )
        ),
    )
    m = p.let("{c}()", "m", "net", "model", c=name)
    with p.block(p.pick("for _ in range(2):", "for x in [{t}.randn(2, 4), {t}.randn(2, 4)]:")):
        p.line("loss = {m}({t}.ones(2, 4))\nloss.backward()", m=m)


@fault("second-backward")
def double_backward_without_create_graph(p: Program) -> None:
    """retain_graph is given to the second call instead of the first."""
    w = leaf(p)
    value = loss(p, apply(p, w, SAVING))
    p.line(
        "{l}.backward({a})\n{l}.backward(retain_graph=True)",
        l=value,
        a=p.pick("", "retain_graph=False", "retain_graph=None", "create_graph=False"),
    )


@legal("second-backward", 3)
def retained(p: Program) -> None:
    """All but the last call retain the graph."""
    w = leaf(p)
    value = loss(p, derive(p, w))
    p.line(
        p.pick(
            "{l}.backward(retain_graph=True)\n{l}.backward()",
            "{l}.backward(retain_graph=True)\n{w}.grad = None\n{l}.backward()",
            "g = {autograd}.grad({l}, {w}, retain_graph=True)[0]\n{l}.backward()",
            "g = {autograd}.grad({l}, {w}, create_graph=True)[0]\n{l}.backward()",
            "for _ in range(3):\n    {l}.backward(retain_graph=True)",
            "for i in range(2):\n    {l}.backward(retain_graph=i < 1)",
        ),
        l=value,
        w=w,
    )


@legal("second-backward", 2)
def nothing_kept(p: Program) -> None:
    """The graph kept nothing, so it may be walked again."""
    w = leaf(p)
    y = apply(p, w, SAVING_NOTHING)
    text = p.pick(p.text("{y}.sum()", y=y), p.text("{y}.mean()", y=y), p.text("{y}.sum() * 2", y=y), plain_sum(p, y))
    value = p.let("{e}", "loss", "l", e=text)
    p.line("{l}.backward()\n{l}.backward()", l=value)


@legal("second-backward", 2)
def separate_graphs(p: Program) -> None:
    """Two losses of one leaf have graphs of their own."""
    w = leaf(p)
    a, b = loss(p, derive(p, w)), loss(p, derive(p, w))
    p.line("{a}.backward()\n{b}.backward()", a=a, b=b)


@legal("second-backward")
def forward_in_the_loop(p: Program) -> None:
    """The forward pass is repeated in each turn."""
    m = model(p, 4, 2)
    x, y = batch(p, 4), targets(p, 2)
    o = optimizer(p, f"{m}.parameters()")
    with p.block(p.pick("for epoch in range(3):", "for _ in range(2):")):
        p.line(
            "loss = {e}\n{o}.zero_grad()\nloss.backward()\n{o}.step()",
            e=criterion(p, f"{m}({x})", str(y)),
            o=o,
        )


@legal("second-backward")
def shared_part_without_memory(p: Program) -> None:
    """Two losses share a part that kept nothing."""
    w = leaf(p)
    h = apply(p, w, SAVING_NOTHING, "h", "shared")
    a, b = loss(p, apply(p, h, SMOOTH)), loss(p, apply(p, h, SMOOTH))
    p.line("{a}.backward()\n{b}.backward()", a=a, b=b)


@legal("second-backward")
def detached_between(p: Program) -> None:
    """The second loss uses the first result detached."""
    h = apply(p, leaf(p), SAVING)
    first = loss(p, h)
    d = p.tensor(h.shape, "{h}.detach()", "d", "fixed", h=h)
    second = loss(p, p.tensor(h.shape, "{u} * {d}", u=leaf(p, h.shape), d=d))
    p.line("{a}.backward()\n{b}.backward()", a=first, b=second)


@legal("second-backward")
def sum_then_one_backward(p: Program) -> None:
    """Losses are summed, and backward is called once."""
    w = leaf(p)
    start, add, end = p.pick(
        ("0", "{s} = {s} + ({w} ** 2).sum() * i", "{s}.backward()"),
        ("{t}.zeros(())", "{s} = {s} + ({w} ** 2).mean()", "({s} / 3).backward()"),
        ("0.0", "{s} += {w}.exp().sum()", "{s}.backward()"),
        ("[]", "{s}.append(({w} ** 2).sum() * i)", "{t}.stack({s}).mean().backward()"),
        ("[]", "{s}.append({w}.sigmoid().mean())", "sum({s}).backward()"),
    )
    total = p.let(start, "total", "losses", "acc")
    with p.block("for i in range(3):"):
        p.line(add, s=total, w=w)
    p.line(end, s=total)
