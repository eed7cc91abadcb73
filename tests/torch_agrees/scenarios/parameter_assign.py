"""What is assigned over a parameter, a buffer, a child module."""

from __future__ import annotations

from ..networks import model, optimizer
from ..pieces import rate
from ..program import Program
from .registry import fault, legal

LAYERS = (
    ("{nn}.Linear(4, 3)", "weight", "3, 4"),
    ("{nn}.Linear(4, 3)", "bias", "3"),
    ("{nn}.BatchNorm1d(3)", "weight", "3"),
    ("{nn}.Embedding(5, 4)", "weight", "5, 4"),
    ("{nn}.LayerNorm(4)", "bias", "4"),
    ("{nn}.Conv1d(1, 2, 3)", "weight", "2, 1, 3"),
    ("{nn}.PReLU()", "weight", "1"),
)


@fault("parameter-assign", 3)
def tensor_over_parameter(p: Program) -> None:
    """A plain tensor is assigned over a layer's parameter."""
    make, attribute, shape = p.pick(*LAYERS)
    m = p.let(make, "layer", "fc", "m", "head", "module")
    p.line(
        p.pick(
            "{m}.{a} = {t}.zeros({s})",
            "{m}.{a} = {m}.{a} * 2",
            "{m}.{a} = {t}.ones({s})",
            "{m}.{a} = {m}.{a}.detach()",
            "{m}.{a} = {m}.{a}.data",
            "{m}.{a} = {t}.randn({s}, requires_grad=True)",
            "setattr({m}, '{a}', {t}.zeros({s}))",
            "{m}.{a} = {m}.{a}.double()",
            "{m}.{a} = {m}.{a} - 0.1",
            "{m}.{a} = {m}.{a}.clone()",
            "{m}.{a} = {m}.{a} / {m}.{a}.norm()",
            "with {t}.no_grad():\n    {m}.{a} = {m}.{a} * 0.5",
            "w_ = {t}.randn({s})\n{m}.{a} = w_",
            "{m}.{a} = {t}.nn.init.zeros_({t}.empty({s}))",
        ),
        m=m,
        a=attribute,
        s=shape,
    )
    p.line("print({m}.{a}.sum().item())", m=m, a=attribute)


@fault("parameter-assign", 2)
def update_by_assignment(p: Program) -> None:
    """A module's parameters are updated by assignment."""
    name = p.fresh("Regression", "LinearModel", "Scale", "Model")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.w = {nn}.Parameter({t}.randn(4))\n"
            "        self.b = {nn}.Parameter({t}.zeros(1))\n\n"
            "    def forward(self, x):\n"
            "        return x @ self.w + self.b\n\n"
            "    def update(self, lr):\n"
            "        {u}"
        ),
        c=name,
        u=p.text(
            p.pick(
                "self.w = self.w - lr * self.w.grad",
                "with {t}.no_grad():\n            self.w = self.w - lr * self.w.grad",
                "self.b = self.b - lr * self.b.grad\n        self.w.grad = None",
                "self.w = self.w.data - lr * self.w.grad",
                "self.w = {t}.clamp(self.w - lr * self.w.grad, -1, 1)",
                "self.w, self.b = self.w - lr * self.w.grad, self.b - lr * self.b.grad",
            )
        ),
    )
    m = p.let("{c}()", "model", "reg", "m", c=name)
    p.line("{m}({t}.randn(3, 4)).pow(2).mean().backward()\n{m}.update({lr})", m=m, lr=rate(p))


@fault("parameter-assign", 2)
def normalised_in_forward(p: Program) -> None:
    """A module normalises its parameter by assignment in forward or __init__."""
    name = p.fresh("Cosine", "Normed", "Spectral", "Head")
    where, text = p.pick(
        (8, "self.weight = {F}.normalize(self.weight, dim=1)"),
        (8, "self.weight = self.weight / self.weight.norm()"),
        (8, "self.weight = self.weight.clamp(-1, 1)"),
    )
    early = p.chance(0.4)
    line = " " * where + p.text(text) + "\n"
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.weight = {nn}.Parameter({t}.randn(3, 4))\n"
            "{i}\n"
            "    def forward(self, x):\n"
            "{f}        return x @ self.weight.t()"
        ),
        c=name,
        i=line if early else "",
        f="" if early else line,
    )
    m = p.let("{c}()", "m", "layer", "head", c=name)
    p.line("{m}({t}.randn(2, 4)).sum().backward()", m=m)


@fault("parameter-assign")
def tied_weights(p: Program) -> None:
    """Weights are tied or copied by assigning tensors."""
    a, b = (
        p.let("{nn}.Linear(4, 4)", "enc", "first", "src"),
        p.let("{nn}.Linear(4, 4)", "dec", "second", "dst"),
    )
    p.line(
        p.pick(
            "{b}.weight = {a}.weight.t()",
            "{b}.weight = {a}.weight.data",
            "{b}.weight = {a}.weight.clone()",
            "{b}.bias = {a}.weight[0]",
            "{b}.weight = {a}.weight.detach()",
            "for q, r in (({a}, {b}),):\n    r.weight = q.weight + 0",
            "net_ = {t}.nn.Sequential({a}, {b})\nnet_[1].weight = {a}.weight * 1",
        ),
        a=a,
        b=b,
    )


@fault("parameter-assign")
def number_over_parameter(p: Program) -> None:
    """A number, a string or an array is assigned over a parameter."""
    m = p.let(p.pick("{nn}.Linear(2, 2)", "{nn}.Linear(2, 2, bias=True)"), "fc", "layer", "head")
    p.line(
        p.pick(
            "{m}.weight = 1.0",
            "{m}.bias = 0",
            "{m}.bias = False",
            "{m}.weight = {np}.zeros((2, 2))",
            "{m}.bias = [0.0, 0.0]",
            "{m}.weight = {m}.weight.tolist()",
            "{m}.bias = {m}.bias.sum().item()",
        ),
        m=m,
    )


@fault("parameter-assign")
def helper_sets_weights(p: Program) -> None:
    """A helper sets the weights of every layer."""
    name = p.fresh("init_weights", "set_weights", "reset", "scale_weights")
    p.define(
        "def {f}(m):\n    if isinstance(m, {nn}.Linear):\n        {w}",
        f=name,
        w=p.text(
            p.pick(
                "m.weight = {t}.zeros_like(m.weight)",
                "m.weight = m.weight * 0.1",
                "m.bias = {t}.zeros(m.out_features)",
                "m.weight = {t}.randn(m.weight.shape) * 0.02",
            )
        ),
    )
    m = model(p)
    p.line("{m}.apply({f})", m=m, f=name) if p.chance(0.6) else p.line(
        "for layer in {m}.modules():\n    {f}(layer)", m=m, f=name
    )


@legal("parameter-assign", 3)
def parameter_over_parameter(p: Program) -> None:
    """A new Parameter, None, or the data is assigned."""
    make, attribute, shape = p.pick(*LAYERS[:5])
    m = p.let(make, "layer", "fc", "m", "head")
    p.line(
        p.pick(
            "{m}.{a} = {nn}.Parameter({t}.zeros({s}))",
            "{m}.{a}.data = {t}.ones({s})",
            "with {t}.no_grad():\n    {m}.{a}.copy_({t}.ones({s}))",
            "{m}.{a} = {nn}.Parameter({m}.{a}.detach() * 2)",
            "{m}.{a}.data.fill_(0.1)",
            "{m}.extra = {t}.zeros({s})",
            "del {m}.{a}\n{m}.{a} = {t}.zeros({s})",
            "{m}.{a} = {m}.{a}",
            "{m}.register_buffer('count', {t}.zeros(1))\n{m}.count = {m}.count + 1",
            "{m}.scale = {m}.{a} * 2",
        ),
        m=m,
        a=attribute,
        s=shape,
    )
    p.line("print({m}.{a}.sum().item())", m=m, a=attribute)


@legal("parameter-assign")
def buffers_updated(p: Program) -> None:
    """A module updates a buffer by assignment and by write."""
    name = p.fresh("Counter", "Normalizer", "Running", "EMA")
    p.define(
        (
            "class {c}({nn}.Module):\n"
            "    def __init__(self):\n"
            "        super().__init__()\n"
            "        self.fc = {nn}.Linear(4, 2)\n"
            "        self.register_buffer('mean', {t}.zeros(2))\n\n"
            "    def forward(self, x):\n"
            "        out = self.fc(x)\n"
            "        {u}\n"
            "        return out - self.mean"
        ),
        c=name,
        u=p.text(
            p.pick(
                "self.mean = 0.9 * self.mean + 0.1 * out.detach().mean(0)",
                "self.mean.mul_(0.9).add_(0.1 * out.detach().mean(0))",
                "with {t}.no_grad():\n            self.mean += 0.1 * out.mean(0)",
            )
        ),
    )
    m = p.let("{c}()", "m", "net", c=name)
    o = optimizer(p, f"{m}.parameters()")
    p.line(
        (
            "for _ in range(2):\n"
            "    loss = {m}({t}.randn(3, 4)).pow(2).mean()\n"
            "    {o}.zero_grad()\n"
            "    loss.backward()\n"
            "    {o}.step()"
        ),
        m=m,
        o=o,
    )


@legal("parameter-assign")
def tied_parameter(p: Program) -> None:
    """Weights are tied by sharing the Parameter."""
    a, b = p.let("{nn}.Linear(4, 4)", "enc", "first"), p.let("{nn}.Linear(4, 4)", "dec", "second")
    p.line("{b}.weight = {a}.weight\n{b}({t}.tanh({a}({t}.randn(2, 4)))).sum().backward()", a=a, b=b)
