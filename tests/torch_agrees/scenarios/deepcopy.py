"""deepcopy of tensors that belong to a graph."""

from __future__ import annotations

from ..networks import batch, criterion, model, optimizer, targets
from ..pieces import derive, finish, leaf
from ..program import Program
from .registry import fault, legal

COPIED = (
    "{c}({y})",
    "{c}([{y}])",
    "{c}({{'out': {y}}})",
    "{c}(({y}, 1))",
    "{c}({{'step': 0, 'loss': {y}}})",
    "{c}([1, {y}, 'x'])",
)


@fault("deepcopy", 3)
def copied_result(p: Program) -> None:
    """A result is deep-copied, alone or in a container."""
    y = derive(p, leaf(p))
    p.let(p.pick(*COPIED), "backup", "snapshot", "saved", "copy_", y=y, c=p.module("copy"))
    finish(p, y)


@fault("deepcopy")
def copied_loss(p: Program) -> None:
    """The best loss is kept by deepcopy."""
    m = model(p)
    x, y = batch(p, 4), targets(p, 2)
    p.line(
        (
            "best = None\n"
            "for _ in range(2):\n"
            "    loss = {e}\n"
            "    if best is None or loss < best:\n"
            "        best = {c}(loss)\n"
            "    {m}.zero_grad()\n"
            "    loss.backward()"
        ),
        e=criterion(p, f"{m}({x})", str(y)),
        c=p.module("copy"),
        m=m,
    )


@fault("deepcopy", 2)
def copied_module_with_state(p: Program) -> None:
    """A module keeps an activation as an attribute and is deep-copied."""
    name = p.fresh("Net", "Recurrent", "Agent", "Cached")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.fc = {nn}.Linear(4, 2)\n"
            "        self.last = None\n\n"
            "    def forward(self, x):\n"
            "        self.last = self.fc(x){k}\n"
            "        return self.last"
        ),
        c=name,
        k=p.pick("", ".relu()", " * 2"),
    )
    m = p.let("{c}()", "net", "agent", "model", c=name)
    p.line(
        "loss = {m}({t}.randn(3, 4)).pow(2).mean()\nloss.backward()\n{k} = {c}({m})",
        m=m,
        c=p.module("copy"),
        k=p.pick("target", "ema", "best_model", "frozen"),
    )


@fault("deepcopy")
def copied_module_with_scaled_weight(p: Program) -> None:
    """A module keeps a tensor computed from its parameter."""
    name = p.fresh("Scaled", "Tied", "Net")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.w = {nn}.Parameter({t}.randn(4))\n"
            "        self.scaled = {e}\n\n"
            "    def forward(self, x):\n"
            "        return x * self.scaled"
        ),
        c=name,
        e=p.pick("self.w * 0.1", "self.w.sigmoid()", "self.w.view(2, 2)[0]", "self.w + 1"),
    )
    m = p.let("{c}()", "net", "layer", "model", c=name)
    p.line("target = {c}({m})", m=m, c=p.module("copy"))
    if p.chance(0.5):
        p.line("print(target.w.sum().item())")


@fault("deepcopy")
def copied_object(p: Program) -> None:
    """A plain object that holds a result is deep-copied."""
    name = p.fresh("State", "Memory", "Transition", "Record")
    p.define(
        ("class {c}:\n    def __init__(self, value, step=0):\n        self.value = value\n        self.step = step"),
        c=name,
    )
    y = derive(p, leaf(p))
    p.line("record = {k}({y})\nhistory = [{c}(record)]", k=name, y=y, c=p.module("copy"))


@legal("deepcopy", 2)
def copied_leaf(p: Program) -> None:
    """Leaves and detached results may be deep-copied."""
    w = leaf(p)
    y = derive(p, w)
    finish(p, y)
    p.let(
        p.pick(
            "{c}({w})",
            "{c}({y}.detach())",
            "{c}({y}.item() if {y}.numel() == 1 else {y}.tolist())",
            "{c}([{w}, {w}])",
            "{c}({{'w': {w}.detach()}})",
            "{y}.clone()",
            "{c}({w}.grad)",
            "{c}({y}.data)",
            "{c}({y}.shape)",
        ),
        "backup",
        "snapshot",
        "copy_",
        w=w,
        y=y,
        c=p.module("copy"),
    )


@legal("deepcopy", 2)
def copied_model(p: Program) -> None:
    """A model is deep-copied for a target network or an average."""
    m = model(p)
    target = p.let(
        p.pick("{c}({m})", "{c}({m}).requires_grad_(False)", "{c}({m}).eval()"),
        "target",
        "ema",
        "teacher",
        c=p.module("copy"),
        m=m,
    )
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        (
            "x_ = {t}.randn(3, 4)\n"
            "with {t}.no_grad():\n"
            "    goal = {g}(x_)\n"
            "loss = {e}\n"
            "{o}.zero_grad()\n"
            "loss.backward()\n"
            "{o}.step()"
        ),
        g=target,
        e=criterion(p, f"{m}(x_)", "goal"),
        o=o,
    )
    if p.chance(0.6):
        p.line(
            "with {t}.no_grad():\n    for a, b in zip({g}.parameters(), {m}.parameters()):\n        {u}",
            g=target,
            m=m,
            u=p.pick(
                "a.mul_(0.9).add_(0.1 * b)",
                "a.copy_(0.9 * a + 0.1 * b)",
                "a.lerp_(b, 0.1)",
                "a.data.copy_(b.data)",
            ),
        )


@legal("deepcopy")
def copied_state_dict(p: Program) -> None:
    """The state of the best model is kept."""
    m = model(p)
    finish(p, p.tensor((3, 2), "{m}({t}.randn(3, 4))", m=m))
    p.line("best = {c}({m}.state_dict())\n{m}.load_state_dict(best)", c=p.module("copy"), m=m)
