"""Values that backward needs, changed by a write before backward."""

from __future__ import annotations

from ..catalogue import PAIRED, SAVING_INPUT, SAVING_NOTHING, SAVING_OUTPUT, WHOLE_WRITES
from ..deliver import write
from ..networks import batch, criterion, model, optimizer, targets
from ..pieces import apply, backward, data, derive, finish, leaf, plain_sum, rate, writing
from ..program import Program, Var
from .registry import fault, legal


@fault("saved-modified", 4)
def written_output(p: Program) -> None:
    """The result of an operation that keeps it is written."""
    y = apply(p, leaf(p), SAVING_OUTPUT)
    if p.chance(0.3):
        kept = derive(p, y)
        write(p, y)
        finish(p, kept)
    else:
        write(p, y)
        finish(p, y)


@fault("saved-modified", 3)
def written_argument(p: Program) -> None:
    """The argument of an operation that keeps it is written."""
    h = apply(p, leaf(p), SAVING_NOTHING)
    y = apply(p, h, SAVING_INPUT)
    write(p, h)
    finish(p, y)


@fault("saved-modified", 2)
def written_partner(p: Program) -> None:
    """A plain tensor that multiplied a tracked one is written."""
    w = leaf(p)
    x = data(p, w.shape)
    y = p.tensor(
        w.shape,
        p.pick("{w} * {x}", "{t}.mul({x}, {w})", "{x} * {w}", "{w} * {x} + {x}", "{w}.mul({x})"),
        "y",
        "out",
        w=w,
        x=x,
    )
    write(p, x)
    finish(p, y)


@fault("saved-modified")
def reused_buffer(p: Program) -> None:
    """A buffer that is filled anew in each turn was kept by the turns before."""
    w = leaf(p, (3,))
    buffer = p.tensor((3,), "{t}.zeros(3)", "buf", "state", "window", "x_t")
    total = p.let(p.pick("0", "0.0", "{t}.zeros(())"), "total", "acc", "loss")
    with p.block("for i in range(3):"):
        p.line(
            p.pick("{b}.fill_(i)", "{b} += 1", "{b}[0] = i", "{b}.copy_({t}.randn(3))", "{b}.normal_()"),
            b=buffer,
        )
        p.line(
            p.pick("{s} = {s} + ({w} * {b}).sum()", "{s} += ({b} * {w}).sum()", "{s} = {s} + {w}.dot({b})"),
            s=total,
            w=w,
            b=buffer,
        )
    backward(p, total)


@fault("saved-modified")
def accumulated_state(p: Program) -> None:
    """A recurrent state is updated in place."""
    w = leaf(p, (4, 4))
    h = p.tensor((2, 4), p.pick("{t}.zeros(2, 4)", "{t}.ones(2, 4)"), "h", "state", "hidden")
    with p.block(p.pick("for _ in range(3):", "for step in range(2):")):
        p.line(
            p.pick(
                "{h} += {t}.tanh({h} @ {w})",
                "{h}.add_(({h} @ {w}).tanh())",
                "{h}.copy_({t}.tanh({h}.mm({w})))",
                "{h} *= ({h} @ {w}).sigmoid()",
            ),
            h=h,
            w=w,
        )
    finish(p, h)


RESIDUALS = (
    "h = {t}.{f}(self.a(x))\n        h += x",
    "h = {t}.{f}(self.a(x))\n        h[:, 0] = 0",
    "h = {t}.{f}(self.a(x))\n        h *= 2",
    "h = self.a(x).{f}()\n        h.add_(1)",
    "h = self.a(x)\n        g = h ** 2\n        h += g",
    "h = {t}.{f}(self.a(x))\n        {F}.relu(h - 1, inplace=True)\n        h.mul_(0.5)",
    "h = {t}.{f}(self.a(x))\n        h = {F}.relu(h, inplace=True)",
    "h = self.a(x)\n        gate = {t}.{f}(h)\n        gate -= 0.5\n        h = h * gate",
)


@fault("saved-modified", 2)
def residual_in_forward(p: Program) -> None:
    """A module's forward changes an activation in place."""
    name = p.fresh("Residual", "Block", "Gated", "Layer", "Net")
    p.define(
        "class {c}({nn}.Module):\n    def __init__(self, dim=4):\n        super().__init__()\n"
        "        self.a = {nn}.Linear(dim, dim)\n        self.b = {nn}.Linear(dim, dim)\n\n"
        "    def forward(self, x):\n        {r}\n        return self.b(h)",
        c=name,
        r=p.text(p.pick(*RESIDUALS), f=p.pick("sigmoid", "tanh", "exp", "relu")),
    )
    m = p.let("{c}()", "block", "m", "net", "model", c=name)
    if p.chance(0.5):
        o = optimizer(p, f"{m}.parameters()")
        p.line("{o}.zero_grad()", o=o)
    finish(p, p.tensor((3, 4), "{m}({t}.randn(3, 4))", m=m))


@fault("saved-modified")
def inplace_layer(p: Program) -> None:
    """An in-place activation stands after a layer that keeps its result."""
    first = p.pick("{nn}.Sigmoid()", "{nn}.Tanh()", "{nn}.Softmax(dim=-1)", "{nn}.Softplus()", "{nn}.LogSigmoid()")
    second = p.pick(
        "{nn}.ReLU(inplace=True)",
        "{nn}.ReLU(True)",
        "{nn}.ELU(inplace=True)",
        "{nn}.LeakyReLU(0.1, inplace=True)",
        "{nn}.Hardtanh(inplace=True)",
        "{nn}.Dropout(0.5, inplace=True)",
        "{nn}.SiLU(inplace=True)",
    )
    template = p.pick(
        "{nn}.Sequential({nn}.Linear(4, 4), {a}, {b}, {nn}.Linear(4, 1))",
        "{nn}.Sequential(\n    {nn}.Linear(4, 4),\n    {a},\n    {b},\n)",
    )
    m = p.let(template, "model", "net", a=p.text(first), b=p.text(second))
    finish(p, Var(p.let("{m}({t}.randn(3, 4))", "out", "y", m=m), (3, 4)))


@fault("saved-modified")
def normalised_in_place(p: Program) -> None:
    """A tensor is normalised by its own norm in place."""
    w = leaf(p, p.pick((3, 4), (4,), (2, 3)))
    h = apply(p, w, SAVING_NOTHING)
    p.line(
        p.pick(
            "{h} /= {h}.norm()",
            "{h}.div_({h}.norm())",
            "{h} -= {h}.max()",
            "{h} *= {h}.sigmoid()",
            "{h}.div_({h}.exp().sum())",
            "{h} /= {h}.pow(2).sum().sqrt()",
        ),
        h=h,
    )
    finish(p, h)


@fault("saved-modified")
def inplace_function(p: Program) -> None:
    """A function with inplace=True changes what another needs."""
    h = apply(p, leaf(p), p.pick(SAVING_OUTPUT, SAVING_INPUT))
    y = derive(p, h)
    p.line(
        p.pick(
            "{F}.relu({h}, inplace=True)",
            "{F}.elu({h}, inplace=True)",
            "{F}.dropout({h}, 0.5, inplace=True)",
            "{F}.leaky_relu({h}, 0.1, True)",
            "{nn}.ReLU(inplace=True)({h})",
            "{t}.relu_({h})",
            "{F}.hardtanh({h}, inplace=True)",
        ),
        h=h,
    )
    finish(p, y, h)


@fault("saved-modified")
def matmul_operand(p: Program) -> None:
    """An operand of a matrix product is changed."""
    w = leaf(p, (4, 3))
    x = data(p, (2, 4))
    y = p.tensor(
        (2, 3),
        p.pick(
            "{x} @ {w}",
            "{x}.mm({w})",
            "{t}.matmul({x}, {w})",
            "{F}.linear({x}, {w}.t())",
            "{t}.einsum('ij,jk->ik', {x}, {w})",
        ),
        "y",
        "out",
        x=x,
        w=w,
    )
    write(p, x)
    finish(p, y)


@fault("saved-modified")
def input_of_layer(p: Program) -> None:
    """The input of a layer is augmented after the forward pass."""
    m = model(p)
    x = batch(p, 4)
    out = p.let("{m}({x})", "out", "pred", "y_hat", m=m, x=x)
    p.line("{w}", w=writing(p, x))
    y = targets(p, 2)
    backward(p, p.let("{e}", "loss", e=criterion(p, out, str(y))))


@fault("saved-modified", 2)
def random_pair(p: Program) -> None:
    """Two results meet, one of them is written before or after."""
    w = leaf(p)
    a, b = derive(p, w, "a", "left", "p1", "enc"), derive(p, w, "b", "right", "p2", "dec")
    c = p.tensor(w.shape, p.pick(*PAIRED), "c", "mix", "joined", "fused", x=a, y=b)
    write(p, p.pick(a, b))
    finish(p, c)


@legal("saved-modified", 3)
def written_where_nothing_is_kept(p: Program) -> None:
    """Neither argument nor result was kept."""
    w = leaf(p)
    h = apply(p, w, SAVING_NOTHING)
    y = apply(p, h, SAVING_NOTHING)
    write(p, p.pick(h, y))
    p.line("({e}).backward()", e=plain_sum(p, y)) if p.chance(0.5) else finish(p, y)


@legal("saved-modified", 2)
def written_result_whose_argument_is_kept(p: Program) -> None:
    """Backward needs the argument, the result may change."""
    y = apply(p, leaf(p), SAVING_INPUT)
    p.line("{w}", w=p.text(p.pick(*WHOLE_WRITES), x=y))
    finish(p, y)


@legal("saved-modified", 2)
def written_argument_whose_result_is_kept(p: Program) -> None:
    """Backward needs the result, the argument may change."""
    h = apply(p, leaf(p), SAVING_NOTHING)
    y = apply(p, h, SAVING_OUTPUT)
    p.line("{w}", w=p.text(p.pick(*WHOLE_WRITES), x=h))
    finish(p, y)


@legal("saved-modified", 2)
def written_clone(p: Program) -> None:
    """The write goes to a clone."""
    y = apply(p, leaf(p), p.pick(SAVING_OUTPUT, SAVING_INPUT))
    c = p.tensor(
        y.shape,
        p.pick("{y}.clone()", "{y}.detach().clone()", "{y} + 0", "{y} * 1.0", "{t}.clone({y})"),
        "c",
        "copy_",
        "masked",
        y=y,
    )
    write(p, c)
    p.line("print({c}.sum().item())", c=c)
    finish(p, y)


@legal("saved-modified", 2)
def constant_mask(p: Program) -> None:
    """With a constant factor only the factor is kept, so the other may change."""
    w = leaf(p)
    mask = p.tensor(
        w.shape,
        p.pick("({t}.rand_like({w}) > 0.5).float()", "{t}.ones({s})", "{t}.bernoulli({t}.full(({s},), 0.5))"),
        "mask",
        "m",
        "keep",
        w=w,
        s=", ".join(map(str, w.shape)),
    )
    h = apply(p, w, SAVING_NOTHING)
    y = p.tensor(w.shape, p.pick("{h} * {m}", "{t}.mul({h}, {m})", "{h}.mul({m})"), "y", "dropped", h=h, m=mask)
    write(p, h)
    finish(p, y)


@legal("saved-modified")
def written_after_backward(p: Program) -> None:
    """The write comes after backward."""
    y = derive(p, leaf(p))
    finish(p, y)
    with p.block("with {t}.no_grad():"):
        write(p, y)


@legal("saved-modified")
def running_statistics(p: Program) -> None:
    """A running average is kept in place, of detached values."""
    m = model(p)
    average = p.tensor((2,), "{t}.zeros(2)", "running_mean", "ema", "average")
    with p.block("for step in range(3):"):
        p.line("out = {m}({t}.randn(3, 4))", m=m)
        p.line(
            p.pick(
                "{a}.mul_(0.9).add_(0.1 * out.detach().mean(0))",
                "{a} += 0.1 * (out.detach().mean(0) - {a})",
                "{a}.lerp_(out.detach().mean(0), 0.1)",
            ),
            a=average,
        )
        p.line(
            p.pick(
                "loss = (out - {a}).pow(2).mean()",
                "loss = (out * {a}.clone()).sum()",
                "loss = (out + {a}).sum()",
            ),
            a=average,
        )
        p.line("{m}.zero_grad()\nloss.backward()", m=m)


@legal("saved-modified")
def legal_residual(p: Program) -> None:
    """A residual is added to the result of a layer that does not keep it."""
    name = p.fresh("Residual", "Block", "Layer", "Net")
    p.define(
        "class {c}({nn}.Module):\n    def __init__(self, dim=4):\n        super().__init__()\n"
        "        self.a = {nn}.Linear(dim, dim)\n        self.b = {nn}.Linear(dim, dim)\n"
        "        self.act = {nn}.ReLU(inplace=True)\n\n"
        "    def forward(self, x):\n        {r}\n        return self.b(h)",
        c=name,
        r=p.pick(
            "h = self.a(x)\n        h += x",
            "h = self.act(self.a(x))",
            "h = self.a(x)\n        h *= 0.5\n        h = self.act(h)",
            "h = self.a(x) + x\n        h[:, 0] = 0",
            "h = self.a(x)\n        h = h.clone()\n        h[h < 0] = 0",
        ),
    )
    m = p.let("{c}()", "block", "m", "net", "model", c=name)
    finish(p, p.tensor((3, 4), "{m}({t}.randn(3, 4))", m=m))


@legal("saved-modified")
def masked_gradient_buffer(p: Program) -> None:
    """Activations and gradients by hand on plain tensors."""
    x = data(p, (4, 3))
    w = data(p, (3, 2), "w1", "W")
    p.line(
        (
            "h = {x} @ {w}\n"
            "h_relu = h.clamp(min=0)\n"
            "grad_h = h_relu.clone()\n"
            "grad_h[h < 0] = 0\n"
            "{w} -= {lr} * ({x}.t() @ grad_h)"
        ),
        x=x,
        w=w,
        lr=rate(p),
    )
    p.reserve("h", "h_relu", "grad_h")
    finish(p, derive(p, leaf(p)))
