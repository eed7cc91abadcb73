"""Losses that have no graph."""

from __future__ import annotations

from ..networks import batch, criterion, model, optimizer, targets
from ..pieces import backward, data, derive, finish, leaf, loss, no_grad, rate, scalar
from ..program import Program, Var
from .registry import fault, legal

CUTS = (
    "{y}.detach()",
    "{y}.data",
    "{t}.tensor({y}.tolist())",
    "{t}.from_numpy({y}.detach().numpy())",
    "({y} > 0).float()",
    "{y}.argmax(-1).float()",
    "{y}.detach().clone()",
    "{t}.tensor({y}.detach().numpy())",
    "{y}.long().float()",
    "{y}.argmax().float()",
    "{t}.as_tensor({y}.detach().numpy())",
    "{y}.int().float()",
    "{y}.sign().bool().float()",
    "{t}.ones_like({y})",
    "{t}.eq({y}, {y}.detach()).float()",
    "({y}.detach() * 2)",
    "{y}.new_tensor({y}.tolist())",
    "{t}.gt({y}, 0.5).float()",
)
"""What cuts a result from its graph."""


@fault("no-graph", 3)
def cut_on_the_way(p: Program) -> None:
    """The result is cut from its graph before the loss."""
    y = derive(p, leaf(p))
    c = p.tensor((2,), p.pick(*CUTS), "c", "value", "fixed", "hard", "cut", y=y)
    text = p.text(p.pick("{c}.sum()", "{c}.mean()", "({c} ** 2).sum()", "{c}.pow(2).mean()", "{c}.abs().sum()"), c=c)
    backward(p, p.let("{e}", "loss", "l", e=text))


@fault("no-graph", 2)
def forward_without_grad_mode(p: Program) -> None:
    """The forward pass of a training loss runs under no_grad."""
    m = model(p)
    x, y = batch(p, 4), targets(p, 2)
    with no_grad(p):
        out = p.let("{m}({x})", "out", "pred", m=m, x=x)
        if p.chance(0.4):
            p.line("loss = {e}", e=criterion(p, out, str(y)))
    if not p.body[-1].strip().startswith("loss ="):
        p.line("loss = {e}", e=criterion(p, out, str(y)))
    p.line("loss.backward()")


@fault("no-graph", 2)
def rewrapped_loss(p: Program) -> None:
    """The loss is made anew from its number."""
    m = model(p)
    value = p.let("{m}({t}.randn(3, 4)).pow(2).mean()", "loss", "l", m=m)
    p.line(
        p.pick(
            "{l} = {t}.tensor({l}.item())",
            "{l} = {t}.tensor({l})",
            "{l} = {t}.tensor(float({l}))",
            "{l} = {t}.as_tensor({l}.item())",
            "{l} = {t}.FloatTensor([{l}.item()])",
            "{l} = {t}.tensor([{l}.item()]).mean()",
            "{l} = {l}.detach()",
            "{l} = {Variable}({l}.data)",
            "{l} = {t}.tensor([{l}, {l}]).mean()",
        ),
        l=value,
    )
    p.line("{l}.backward()", l=value)


@fault("no-graph")
def decorated_forward(p: Program) -> None:
    """A decorated helper computes the loss."""
    name = p.fresh("compute_loss", "forward_pass", "evaluate", "score", "step_loss")
    p.define(
        p.pick("@{t}.no_grad()", "@{t}.inference_mode()", "@{t}.set_grad_enabled(False)")
        + "\ndef {f}(model, x):\n    out = model(x)\n    return out.pow(2).mean()",
        f=name,
    )
    m = model(p)
    p.line("loss = {f}({m}, {t}.randn(3, 4))\nloss.backward()", f=name, m=m)


@fault("no-graph")
def nothing_requires_gradients(p: Program) -> None:
    """No tensor ever required a gradient."""
    w, x = data(p, (3,), "w", "weights", "theta"), data(p, (3,))
    value = p.let(
        p.pick("(({w} - {x}) ** 2).sum()", "{w}.dot({x})", "({w} * {x}).mean()", "{F}.mse_loss({w}, {x})"),
        "loss",
        "l",
        w=w,
        x=x,
    )
    p.line(p.pick("{l}.backward()", "{autograd}.backward({l})", "g = {autograd}.grad({l}, {w})"), l=value, w=w)


@fault("no-graph")
def frozen_model(p: Program) -> None:
    """Every parameter is frozen."""
    m = model(p)
    p.line(
        p.pick(
            "for p in {m}.parameters():\n    p.requires_grad = False",
            "{m}.requires_grad_(False)",
            "for q in {m}.parameters():\n    q.requires_grad_(False)",
            "for name, q in {m}.named_parameters():\n    q.requires_grad = False",
        ),
        m=m,
    )
    p.line("loss = {m}({t}.randn(3, 4)).pow(2).mean()\nloss.backward()", m=m)


@fault("no-graph")
def accuracy_as_loss(p: Program) -> None:
    """A metric is used as the loss."""
    m = model(p, 4, 3)
    p.line("logits = {m}({t}.randn(5, 4))\nlabels = {t}.tensor([0, 1, 2, 0, 1])", m=m)
    p.line(
        p.pick(
            "acc = (logits.argmax(dim=1) == labels).float().mean()\nloss = 1 - acc",
            "pred = logits.max(1)[1]\nloss = (pred != labels).float().mean()",
            "pred = {t}.argmax(logits, dim=-1)\nloss = {F}.mse_loss(pred.float(), labels.float())",
            "_, pred = logits.max(dim=1)\nloss = (pred - labels).float().abs().mean()",
            "pred = logits.topk(1)[1].squeeze(1)\nloss = (pred.float() - labels).pow(2).mean()",
        )
    )
    p.line("loss.backward()")


@fault("no-graph")
def rebound_under_no_grad(p: Program) -> None:
    """An update under no_grad rebinds the name, and the second turn has no leaf."""
    w = leaf(p, p.pick((3,), (4,)))
    x = data(p, w.shape)
    with p.block(p.pick("for step in range(3):", "for epoch in range(2):")):
        p.line(
            ("loss = (({w} - {x}) ** 2).mean()\nloss.backward()\nwith {t}.no_grad():\n    {w} = {w} - {lr} * {w}.grad"),
            w=w,
            x=x,
            lr=rate(p),
        )


@fault("no-graph")
def disabled_globally(p: Program) -> None:
    """Grad mode is switched off and never on again."""
    w = leaf(p)
    p.line(
        p.pick(
            "{t}.set_grad_enabled(False)",
            "{autograd}.set_grad_enabled(False)",
            "{t}.set_grad_enabled(mode=False)",
        )
    )
    p.line("print({w}.mean())", w=w)
    backward(p, loss(p, derive(p, w)))


@fault("no-graph")
def detached_in_forward(p: Program) -> None:
    """A module returns a detached result."""
    name = p.fresh("Net", "Head", "Extractor", "Model")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.fc = {nn}.Linear(4, 2)\n\n"
            "    def forward(self, x):\n"
            "        out = self.fc(x)\n"
            "        {r}"
        ),
        c=name,
        r=p.text(
            p.pick(
                "return out.detach()",
                "return out.data",
                "with {t}.no_grad():\n            out = {t}.tanh(out)\n        return out",
                "return {t}.tensor(out.detach().numpy())",
                "out = out.detach()\n        return out * 2",
                "return (out > 0).float()",
            )
        ),
    )
    m = p.let("{c}()", "net", "model", c=name)
    p.line("loss = {m}({t}.randn(3, 4)).sum()\nloss.backward()", m=m)


@legal("no-graph", 2)
def detached_target(p: Program) -> None:
    """Only the target is detached or made under no_grad."""
    m, target = (
        model(p, 4, 2, "online", "policy", "student"),
        model(p, 4, 2, "target_net", "teacher", "ema_model"),
    )
    x = batch(p, 4)
    if p.chance(0.5):
        with no_grad(p):
            p.line("goal = {m}({x})", m=target, x=x)
    else:
        p.line("goal = {m}({x}).detach()", m=target, x=x)
    p.line("loss = {e}\nloss.backward()", e=criterion(p, f"{m}({x})", "goal"))


@legal("no-graph", 2)
def metric_beside_loss(p: Program) -> None:
    """Metrics are computed beside the loss, without a graph."""
    m = model(p, 4, 3)
    p.line(
        (
            "logits = {m}({t}.randn(5, 4))\n"
            "labels = {t}.tensor([0, 1, 2, 0, 1])\n"
            "loss = {F}.cross_entropy(logits, labels)"
        ),
        m=m,
    )
    p.line(
        p.pick(
            "acc = (logits.argmax(1) == labels).float().mean().item()",
            "with {t}.no_grad():\n    acc = (logits.argmax(1) == labels).float().mean()",
            "probs = logits.detach().softmax(-1).numpy()",
            "value = loss.item()\nhistory = [value]",
            "print(float(loss.detach()))",
        )
    )
    p.line("loss.backward()")


@legal("no-graph")
def partly_frozen(p: Program) -> None:
    """A frozen backbone feeds a trained head."""
    backbone, head = model(p, 4, 3, "backbone", "encoder", "features"), model(p, 3, 2, "head", "classifier")
    p.line(
        p.pick(
            "for p in {b}.parameters():\n    p.requires_grad = False",
            "{b}.requires_grad_(False)",
            "{b}.eval()",
        ),
        b=backbone,
    )
    o = optimizer(p, f"{head}.parameters()")
    p.line(
        "loss = {h}({b}({t}.randn(3, 4))).pow(2).mean()\n{o}.zero_grad()\nloss.backward()\n{o}.step()",
        h=head,
        b=backbone,
        o=o,
    )


@legal("no-graph")
def switched_off_and_on(p: Program) -> None:
    """Grad mode is switched off for a while."""
    w = leaf(p)
    p.line(
        p.pick(
            "{t}.set_grad_enabled(False)\nbaseline = {w}.mean()\n{t}.set_grad_enabled(True)",
            ("with {t}.no_grad():\n    baseline = {w}.mean()\n    with {t}.enable_grad():\n        kept = {w} * 2"),
            "with {t}.set_grad_enabled(True):\n    baseline = {w}.mean()",
            "training = True\nwith {t}.set_grad_enabled(training):\n    baseline = {w}.mean()",
        ),
        w=w,
    )
    p.reserve("baseline", "kept", "training")
    finish(p, derive(p, w))


@legal("no-graph")
def evaluation_then_training(p: Program) -> None:
    """An evaluation helper is decorated, the training step is not."""
    name = p.fresh("evaluate", "validate", "accuracy")
    p.define(
        (
            "@{t}.no_grad()\n"
            "def {f}(model, x):\n"
            "    model.eval()\n"
            "    out = model(x).mean().item()\n"
            "    model.train()\n"
            "    return out"
        ),
        f=name,
    )
    m = model(p)
    p.line("print({f}({m}, {t}.randn(3, 4)))", f=name, m=m)
    finish(p, Var(p.let("{m}({t}.randn(3, 4))", "out", m=m), (3, 2)))


@legal("no-graph")
def new_leaf_from_detached(p: Program) -> None:
    """A detached result becomes a leaf of its own, and its gradient is read."""
    y = derive(p, leaf(p))
    c = p.tensor(
        y.shape,
        p.pick(
            "{y}.detach().requires_grad_()",
            "{y}.detach().clone().requires_grad_(True)",
            "{y}.data.clone().requires_grad_()",
            "{t}.tensor({y}.tolist(), requires_grad=True)",
        ),
        "c",
        "leaf",
        "start",
        y=y,
    )
    backward(p, p.let("{e}", "loss", e=scalar(p, c)))
    p.line("print({c}.grad)", c=c)
