"""Values that backward needs, changed behind the version counter: through .data, or through an array."""

from __future__ import annotations

from ..catalogue import SAVING_INPUT, SAVING_NOTHING, SAVING_OUTPUT, WHOLE_WRITES
from ..networks import batch, criterion, model, optimizer, targets
from ..pieces import apply, backward, data, derive, finish, leaf, loss, rate
from ..program import Program, Var
from .registry import fault, legal

DATA_WRITES = (
    "{x}.data += 1",
    "{x}.data *= 2",
    "{x}.data.mul_(3)",
    "{x}.data[0] = 5.0",
    "{x}.data.add_(1)",
    "{x}.data.zero_()",
    "{x}.data.fill_(0.3)",
    "{x}.data[:1] = 2.0",
    "{x}.data.clamp_(5.0, 6.0)",
    "{x}.data.copy_({t}.full_like({x}, 7.0))",
    "{x}.data -= 0.5",
    "{x}.data.sub_(1)",
    "{x}.data.normal_()",
    "{x}.data[{x}.data > -50] = 0.1",
    "d = {x}.data\nd.mul_(2)",
    "d = {x}.data\nd[0] = 1.5",
    "{x}.data.uniform_(0, 1)",
    "{x}.data.div_(2)",
    "{x}.data.view(-1)[0] = 4.0",
    "for row in {x}.data:\n    row.add_(1)",
    "{x}.data.neg_()",
    "{x}.data.exp_()",
)


def _data_write(p: Program, x: Var) -> None:
    text = p.text(p.pick(*DATA_WRITES), x=x)
    if p.chance(0.2):
        name = p.fresh("poke", "adjust_data", "patch", "renorm")
        p.define("def {f}(t):\n    {w}", f=name, w=p.text(p.pick(*DATA_WRITES[:14]), x="t"))
        p.line("{f}({x})", f=name, x=x)
    elif p.chance(0.15):
        with p.block("for t_ in [{x}]:", x=x):
            p.line(p.pick(*DATA_WRITES[:14]), x="t_")
    else:
        p.line("{w}", w=text)


@fault("silent-data", 3)
def result_changed_through_data(p: Program) -> None:
    """A kept result is changed through .data."""
    y = apply(p, leaf(p), SAVING_OUTPUT)
    value = loss(p, y) if p.chance(0.3) else None
    _data_write(p, y)
    backward(p, value) if value else finish(p, y)


@fault("silent-data", 3)
def argument_changed_through_data(p: Program) -> None:
    """A kept argument is changed through .data."""
    w = leaf(p)
    h = w if p.chance(0.5) else apply(p, w, SAVING_NOTHING)
    y = apply(p, h, SAVING_INPUT)
    _data_write(p, h)
    finish(p, y)


@fault("silent-data", 2)
def partner_changed_through_data(p: Program) -> None:
    """A kept factor is changed through .data."""
    w = leaf(p)
    x = data(p, w.shape) if p.chance(0.5) else leaf(p, w.shape)
    y = p.tensor(
        w.shape,
        p.pick("{w} * {x}", "{x} * {w}", "{t}.mul({w}, {x})", "{w} * {x} + {w}"),
        "y",
        "out",
        w=w,
        x=x,
    )
    _data_write(p, x)
    finish(p, y)


@fault("silent-data", 2)
def update_between_forward_and_backward(p: Program) -> None:
    """Weights are updated or clipped through .data between forward and backward."""
    w1, w2 = leaf(p, (4, 3)), leaf(p, (3, 2))
    x = data(p, (2, 4))
    p.line(
        "h_ = {e}\nout_ = h_ @ {b}\nloss = out_.pow(2).mean()",
        e=p.text(p.pick("{t}.tanh({x} @ {a})", "({x} @ {a}).relu()", "{x} @ {a}"), x=x, a=w1),
        b=w2,
    )
    p.line(
        p.pick(
            "{b}.data.clamp_(-0.01, 0.01)",
            "{b}.data -= {lr}",
            "for w_ in [{a}, {b}]:\n    w_.data.mul_(0.5)",
            "{b}.data = {b}.data * 0.5",
            "{b}.data.normal_(0, 0.1)",
            "{b}.data.copy_({b}.data / {b}.data.norm())",
        ),
        a=w1,
        b=w2,
        lr=rate(p),
    )
    p.line("loss.backward()\nprint({a}.grad.norm().item())", a=w1)


@fault("silent-data")
def clipped_critic(p: Program) -> None:
    """A critic's weights are clipped through .data before the loss goes backward."""
    m = p.let("{nn}.Sequential({nn}.Linear(4, 5), {nn}.Tanh(), {nn}.Linear(5, 1))", "critic", "D", "model")
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        (
            "for _ in range(2):\n"
            "    loss = {m}({t}.randn(3, 4)).pow(2).mean()\n"
            "    {o}.zero_grad()\n"
            "    for p in {m}.parameters():\n"
            "        {c}\n"
            "    loss.backward()\n"
            "    {o}.step()"
        ),
        m=m,
        o=o,
        c=p.pick("p.data.clamp_(-0.01, 0.01)", "p.data.mul_(0.9)", "p.data.add_(0.1)", "p.data = p.data * 0.5"),
    )


@fault("silent-data")
def hidden_write_in_forward(p: Program) -> None:
    """A module's forward changes an activation through .data."""
    name = p.fresh("Masked", "Noisy", "Block", "Clipped")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.a = {nn}.Linear(4, 4)\n"
            "        self.b = {nn}.Linear(4, 2)\n\n"
            "    def forward(self, x):\n"
            "        h = {t}.{f}(self.a(x))\n"
            "        {w}\n"
            "        return self.b(h)"
        ),
        c=name,
        f=p.pick("sigmoid", "tanh", "exp"),
        w=p.text(
            p.pick(
                "h.data[:, 0] = 0",
                "h.data.mul_(0.5)",
                "h.data += 0.1 * {t}.randn_like(h)",
                "h.data.clamp_(0.2, 0.4)",
                "h.data[h.data > -2] = 0",
            )
        ),
    )
    m = p.let("{c}()", "net", "block", "m", c=name)
    finish(p, p.tensor((3, 2), "{m}({t}.randn(3, 4))", m=m))


@fault("silent-data")
def changed_through_array(p: Program) -> None:
    """An array that shares memory with a kept tensor is written."""
    y = apply(p, leaf(p, p.pick((3,), (4,))), SAVING_OUTPUT)
    p.line(
        p.pick(
            "arr = {y}.detach().numpy()\narr[0] = 5.0",
            "arr = {y}.detach().numpy()\narr *= 2",
            "arr = {y}.data.numpy()\narr += 1",
            "{y}.detach().numpy()[:] = 0.3",
            "arr = {y}.detach().cpu().numpy()\narr[arr > -50] = 0.1",
        ),
        y=y,
    )
    finish(p, y)


@legal("silent-data", 2)
def data_written_where_nothing_is_kept(p: Program) -> None:
    """Backward needs nothing of the tensor changed through .data."""
    y = apply(p, apply(p, leaf(p), SAVING_NOTHING), SAVING_NOTHING)
    p.line(p.pick(*DATA_WRITES[:14]), x=y)
    p.line("{y}.sum().backward()", y=y)


@legal("silent-data", 2)
def data_written_after_backward(p: Program) -> None:
    """The write through .data comes after backward, or before the forward pass."""
    w = leaf(p)
    if p.chance(0.5):
        p.line(p.pick(*DATA_WRITES[:14]), x=w)
    finish(p, derive(p, w))
    p.line(p.pick(*DATA_WRITES[:14]), x=w)


@legal("silent-data")
def weights_clipped_after_step(p: Program) -> None:
    """Weights are clipped through .data after the step."""
    m = model(p)
    o = optimizer(p, f"{m}.parameters()")
    x, y = batch(p, 4), targets(p, 2)
    p.line(
        (
            "for _ in range(2):\n"
            "    loss = {e}\n"
            "    {o}.zero_grad()\n"
            "    loss.backward()\n"
            "    {o}.step()\n"
            "    for p in {m}.parameters():\n"
            "        {c}"
        ),
        e=criterion(p, f"{m}({x})", str(y)),
        m=m,
        o=o,
        c=p.pick("p.data.clamp_(-0.01, 0.01)", "p.data.mul_(0.99)", "p.data = p.data.clamp(-1, 1)"),
    )


@legal("silent-data")
def initialised_through_data(p: Program) -> None:
    """Weights are initialised through .data."""
    m = p.let("{nn}.Linear(4, 3)", "fc", "layer")
    p.line(
        p.pick(
            "{m}.weight.data.normal_(0, 0.02)\n{m}.bias.data.zero_()",
            "{m}.weight.data.uniform_(-0.1, 0.1)",
            "{m}.bias.data.fill_(0.1)",
            "for p in {m}.parameters():\n    p.data.mul_(0.1)",
        ),
        m=m,
    )
    finish(p, p.tensor((2, 3), "{m}({t}.randn(2, 4))", m=m))


@legal("silent-data")
def clone_of_data_written(p: Program) -> None:
    """A copy of the data is written."""
    y = apply(p, leaf(p), SAVING_OUTPUT)
    p.line(
        p.pick(
            "c = {y}.data.clone()\nc.mul_(2)",
            "c = {y}.data * 2\nc[0] = 0",
            "c = {y}.detach().clone()\nc.zero_()",
            "arr = {y}.detach().numpy().copy()\narr[0] = 1",
            "c = {y}.data.exp()\nc += 1",
        ),
        y=y,
    )
    finish(p, y)


@legal("silent-data")
def target_network(p: Program) -> None:
    """A target network follows through .data."""
    m, target = model(p, 4, 2, "online", "policy"), None
    target = p.let("{c}({m})", "target", "target_net", c=p.module("copy"), m=m)
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        (
            "for _ in range(2):\n"
            "    x_ = {t}.randn(3, 4)\n"
            "    loss = {e}\n"
            "    {o}.zero_grad()\n"
            "    loss.backward()\n"
            "    {o}.step()\n"
            "    for a, b in zip({g}.parameters(), {m}.parameters()):\n"
            "        {u}"
        ),
        e=criterion(p, f"{m}(x_)", f"{target}(x_).detach()"),
        o=o,
        g=target,
        m=m,
        u=p.pick(
            "a.data.copy_(0.9 * a.data + 0.1 * b.data)",
            "a.data.mul_(0.9).add_(0.1 * b.data)",
            "a.data = 0.9 * a.data + 0.1 * b.data",
        ),
    )


@legal("silent-data")
def unneeded_argument(p: Program) -> None:
    """The result is kept, the argument changes."""
    h = apply(p, leaf(p), SAVING_NOTHING)
    y = apply(p, h, p.pick(("{x}.exp()",), ("{x}.sigmoid()",), ("{t}.tanh({x})",)))
    p.line(p.pick(*DATA_WRITES[:14]), x=h)
    finish(p, y)
    p.text(p.pick(*WHOLE_WRITES), x=h)
