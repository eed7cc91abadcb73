"""requires_grad, set where it cannot be."""

from __future__ import annotations

from ..networks import criterion, model
from ..pieces import derive, finish, fresh_result, leaf, loss, scalar
from ..program import Program
from .registry import fault, legal


@fault("requires-grad", 3)
def flag_of_result(p: Program) -> None:
    """The flag of a non-leaf is changed."""
    y = derive(p, leaf(p))
    p.line(
        p.pick(
            "{y}.requires_grad = False",
            "{y}.requires_grad_(False)",
            "{y}.requires_grad = True",
            "{y}.requires_grad_(requires_grad=False)",
            "for part in [{y}]:\n    part.requires_grad = False",
            "setattr({y}, 'requires_grad', False)",
        ),
        y=y,
    )
    finish(p, y)


@fault("requires-grad")
def flag_of_loss(p: Program) -> None:
    """A live loss is asked for gradients."""
    m = model(p)
    p.line(
        "loss = {e}\nloss.requires_grad = True\nloss.backward()",
        e=criterion(p, f"{m}({p.text('{t}.randn(3, 4)')})", p.text("{t}.zeros(3, 2)")),
    )


INTEGERS = (
    "{t}.arange({n})",
    "{t}.tensor([1, 2, 3])",
    "{t}.ones({n}, dtype={t}.long)",
    "{t}.zeros({n}, dtype={t}.int64)",
    "{t}.randint(0, 5, ({n},))",
    "{t}.rand({n}) > 0.5",
    "{t}.rand({n}).long()",
    "{t}.randperm({n})",
    "{t}.tensor([True, False])",
    "{t}.randn({n}).argmax()",
    "{t}.LongTensor([1, 2])",
    "{t}.randn({n}).int()",
    "{t}.tensor(3)",
    "{t}.full(({n},), 2)",
    "{t}.as_tensor([4, 5])",
    "{t}.randn({n}).to({t}.int32)",
    "{t}.from_numpy({np}.arange({n}))",
    "{t}.zeros({n}).bool()",
    "{t}.ones({n}).byte()",
    "{t}.randn({n}).sort()[1]",
)


@fault("requires-grad", 2)
def integers_require_gradients(p: Program) -> None:
    """An integer or boolean tensor is asked for gradients."""
    x = p.let(p.pick(*INTEGERS), "x", "idx", "labels", "counts", "tokens", n=p.pick(3, 4))
    p.line(
        p.pick(
            "{x}.requires_grad_()",
            "{x}.requires_grad = True",
            "{x}.requires_grad_(True)",
            "w_ = {nn}.Parameter({x})",
            "{x} = {x}.requires_grad_()",
            "{x} = {nn}.Parameter({x}, requires_grad=True)",
        ),
        x=x,
    )
    p.line("print({x}.sum())", x=x)


@fault("requires-grad", 2)
def integers_made_to_require_gradients(p: Program) -> None:
    """A factory makes integers and is told requires_grad=True."""
    x = p.let(
        p.pick(
            "{t}.tensor([1, 2, 3], requires_grad=True)",
            "{t}.arange(4, requires_grad=True)",
            "{t}.ones(3, dtype={t}.long, requires_grad=True)",
            "{t}.tensor(5, requires_grad=True)",
            "{t}.zeros(2, dtype={t}.int32, requires_grad=True)",
            "{t}.randint(0, 3, (4,), requires_grad=True)",
            "{t}.arange(0, 6, 2, requires_grad=True)",
            "{t}.full((3,), 1, requires_grad=True)",
            "{t}.tensor([[1, 2], [3, 4]], requires_grad=True)",
            "{t}.randperm(4, requires_grad=True)",
            "{nn}.Parameter({t}.tensor([1, 2]))",
            "{t}.tensor([True, False], requires_grad=True)",
            "{t}.empty(3, dtype={t}.uint8, requires_grad=True)",
            "{Variable}({t}.arange(3), requires_grad=True)",
        ),
        "x",
        "w",
        "coef",
    )
    p.line("y_ = ({x} * 2).sum()\ny_.backward()", x=x)


@fault("requires-grad")
def index_parameter_in_module(p: Program) -> None:
    """A module registers indices as a parameter."""
    name = p.fresh("Gather", "Positions", "Layer")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self, n=4):\n"
            "        super().__init__()\n"
            "        self.fc = {nn}.Linear(n, 2)\n"
            "        self.index = {nn}.Parameter({e})\n\n"
            "    def forward(self, x):\n"
            "        return self.fc(x[:, self.index])"
        ),
        c=name,
        e=p.text(
            p.pick("{t}.arange(n)", "{t}.randperm(n)", "{t}.zeros(n, dtype={t}.long)", "{t}.tensor([0, 1, 2, 3])")
        ),
    )
    m = p.let("{c}()", "m", "net", c=name)
    p.line("print({m}({t}.randn(2, 4)).shape)", m=m)


@fault("requires-grad")
def frozen_weights_of_results(p: Program) -> None:
    """A helper freezes every tensor it is given, among them results."""
    name = p.fresh("freeze", "set_grad", "toggle")
    p.define(
        "def {f}(tensors, value=False):\n    for t in tensors:\n        {w}",
        f=name,
        w=p.pick("t.requires_grad = value", "t.requires_grad_(value)"),
    )
    w = leaf(p)
    y = fresh_result(p, w)
    p.line("{f}([{w}, {y}])", f=name, w=w, y=y)


@legal("requires-grad", 3)
def flag_of_leaf(p: Program) -> None:
    """The flag of leaves and detached results may change."""
    w = leaf(p)
    finish(p, derive(p, w))
    p.line(
        p.pick(
            "{w}.requires_grad = False",
            "{w}.requires_grad_(False)",
            "{w}.requires_grad_()",
            "frozen = {w}.detach()\nfrozen.requires_grad = True",
            "y_ = {w} * 2\ny_.requires_grad_()\ny_.sum().backward()",
            "y_ = ({w} * 2).detach()\ny_.requires_grad = True",
            "{w}.requires_grad = False\n{w}.requires_grad = True",
        ),
        w=w,
    )


@legal("requires-grad", 2)
def floats_require_gradients(p: Program) -> None:
    """Integers are made floats first, or were floats all along."""
    x = p.let(
        p.pick(
            "{t}.arange(4.0, requires_grad=True)",
            "{t}.tensor([1.0, 2, 3], requires_grad=True)",
            "{t}.arange(4).float().requires_grad_()",
            "{t}.tensor([1, 2, 3], dtype={t}.float32, requires_grad=True)",
            "{t}.ones(3, requires_grad=True)",
            "{t}.randint(0, 5, (4,)).double().requires_grad_()",
            "{nn}.Parameter({t}.arange(3) * 0.5)",
            "{nn}.Parameter({t}.tensor([1, 2]), requires_grad=False)",
            "{t}.arange(0, 1, 0.25, requires_grad=True)",
            "{t}.tensor([1, 2], requires_grad=False)",
            "{t}.full((3,), 1.0, requires_grad=True)",
        ),
        "x",
        "w",
        "coef",
    )
    p.line("if {x}.requires_grad:\n    ({x} ** 2).sum().backward()", x=x)


@legal("requires-grad")
def frozen_layers(p: Program) -> None:
    """Layers are frozen and thawed."""
    m = model(p)
    p.line(
        p.pick(
            (
                "for p in {m}.parameters():\n"
                "    p.requires_grad = False\n"
                "for p in {m}.parameters():\n"
                "    p.requires_grad = True"
            ),
            "{m}.requires_grad_(False)\n{m}.requires_grad_(True)",
            "for p in list({m}.parameters())[:1]:\n    p.requires_grad_(False)",
        ),
        m=m,
    )
    finish(p, p.tensor((3, 2), "{m}({t}.randn(3, 4))", m=m))


@legal("requires-grad")
def loss_flag_left_alone(p: Program) -> None:
    """requires_grad is read, never set."""
    w = leaf(p)
    value = loss(p, derive(p, w))
    p.line(
        p.pick(
            "assert {l}.requires_grad",
            "if {l}.requires_grad:\n    {l}.backward()",
            "print({l}.requires_grad, {w}.is_leaf)",
        ),
        l=value,
        w=w,
    )
    scalar(p, w)
