"""Models, optimizers, batches and losses as programs write them."""

from __future__ import annotations

from dataclasses import dataclass

from .pieces import rate
from .program import Program, Var

ACTIVATIONS = (
    "{nn}.ReLU()",
    "{nn}.Tanh()",
    "{nn}.Sigmoid()",
    "{nn}.GELU()",
    "{nn}.ELU()",
    "{nn}.LeakyReLU(0.1)",
    "{nn}.SiLU()",
    "{nn}.ReLU(inplace=True)",
)
FUNCTIONS = (
    "{F}.relu({x})",
    "{t}.tanh({x})",
    "{t}.relu({x})",
    "{x}.sigmoid()",
    "{F}.gelu({x})",
    "{x}.relu()",
    "{F}.elu({x})",
    "{F}.relu({x}, inplace=True)",
    "{F}.leaky_relu({x})",
)

CLASS_NAMES = (
    "Net",
    "Model",
    "MLP",
    "Encoder",
    "Critic",
    "Policy",
    "Regressor",
    "Classifier",
    "TinyNet",
    "Block",
)


@dataclass(frozen=True)
class Model:
    """A module of the program: its name, and the sizes of its last dimension before and after."""

    name: str
    inputs: int
    outputs: int

    def __str__(self) -> str:
        return self.name


def model(p: Program, inputs: int = 4, outputs: int = 2, *names: str) -> Model:
    """Write a module with parameters, in one of many ways."""
    name = p.fresh(*(names or ("model", "net", "model", "mlp", "encoder", "policy", "fc")))
    make = p.rng.choices([_linear, _sequential, _class], [3, 4, 5])[0]
    p.line("{n} = {e}", n=name, e=make(p, inputs, outputs))
    return Model(name, inputs, outputs)


def _linear(p: Program, inputs: int, outputs: int) -> str:
    return p.text(
        p.pick(
            "{nn}.Linear({i}, {o})",
            "{nn}.Linear({i}, {o})",
            "{nn}.Linear(in_features={i}, out_features={o})",
            "{nn}.Linear({i}, {o}, bias=True)",
        ),
        i=inputs,
        o=outputs,
    )


def _sequential(p: Program, inputs: int, outputs: int) -> str:
    width = p.pick(3, 5, 8)
    layers = [p.text("{nn}.Linear({i}, {w})", i=inputs, w=width)]
    if p.chance(0.2):
        layers.append(p.text(p.pick("{nn}.BatchNorm1d({w})", "{nn}.LayerNorm({w})"), w=width))
    layers.append(p.text(p.pick(*ACTIVATIONS)))
    if p.chance(0.2):
        layers.append(p.text(p.pick("{nn}.Dropout(0.1)", "{nn}.Dropout(p=0.2)")))
    layers.append(p.text("{nn}.Linear({w}, {o})", w=width, o=outputs))
    if p.chance(0.5):
        return p.text("{nn}.Sequential({layers})", layers=", ".join(layers))
    return p.text("{nn}.Sequential(\n    {layers},\n)", layers=",\n    ".join(layers))


def _class(p: Program, inputs: int, outputs: int) -> str:
    name = p.fresh(*CLASS_NAMES)
    p.define(
        p.pick(*CLASSES),
        c=name,
        i=inputs,
        o=outputs,
        w=p.pick(3, 5, 6),
        f=p.text(p.pick(*FUNCTIONS), x="x"),
        g=p.text(p.pick(*FUNCTIONS), x="h"),
        a=p.text(p.pick(*ACTIVATIONS)),
    )
    return f"{name}()"


CLASSES = (
    """
class {c}({nn}.Module):
    def __init__(self):
        super().__init__()
        self.fc1 = {nn}.Linear({i}, {w})
        self.fc2 = {nn}.Linear({w}, {o})

    def forward(self, x):
        x = self.fc1(x)
        x = {f}
        return self.fc2(x)
""",
    """
class {c}({nn}.Module):
    def __init__(self, hidden={w}):
        super({c}, self).__init__()
        self.net = {nn}.Sequential({nn}.Linear({i}, hidden), {a}, {nn}.Linear(hidden, {o}))

    def forward(self, x):
        return self.net(x)
""",
    """
class {c}({nn}.Module):
    def __init__(self, n_in={i}, n_out={o}):
        super().__init__()
        self.weight = {nn}.Parameter({t}.randn(n_out, n_in) * 0.1)
        self.bias = {nn}.Parameter({t}.zeros(n_out))

    def forward(self, x):
        return {F}.linear(x, self.weight, self.bias)
""",
    """
class {c}({nn}.Module):
    def __init__(self):
        super().__init__()
        self.layers = {nn}.ModuleList([{nn}.Linear({i}, {i}) for _ in range(2)])
        self.act = {a}
        self.head = {nn}.Linear({i}, {o})

    def forward(self, x):
        for layer in self.layers:
            x = self.act(layer(x))
        return self.head(x)
""",
    """
class {c}({nn}.Module):
    def __init__(self):
        super().__init__()
        self.inp = {nn}.Linear({i}, {w})
        self.norm = {nn}.LayerNorm({w})
        self.out = {nn}.Linear({w}, {o})
        self.dropout = {nn}.Dropout(0.1)

    def forward(self, x, scale=1.0):
        h = self.norm(self.inp(x))
        h = {g}
        h = self.dropout(h)
        return self.out(h) * scale
""",
    """
class {c}({nn}.Module):
    def __init__(self):
        super().__init__()
        self.lin = {nn}.Linear({i}, {i})
        self.proj = {nn}.Linear({i}, {o}, bias=False)
        self.gain = {nn}.Parameter({t}.ones(1))

    def forward(self, x):
        h = x + {t}.tanh(self.lin(x))
        return self.gain * self.proj(h)
""",
    """
class {c}({nn}.Module):
    def __init__(self):
        super().__init__()
        self.w1 = {nn}.Parameter({t}.randn({i}, {w}))
        self.w2 = {nn}.Parameter({t}.randn({w}, {o}))

    def forward(self, x):
        h = (x @ self.w1).clamp(min=0)
        return h.mm(self.w2)
""",
)

OPTIMIZERS = (
    ("{optim}.SGD({ps}, lr={lr})", 6),
    ("{optim}.Adam({ps}, lr={lr})", 5),
    ("{optim}.SGD({ps}, lr={lr}, momentum=0.9)", 3),
    ("{optim}.AdamW({ps}, lr={lr}, weight_decay=1e-4)", 2),
    ("{optim}.RMSprop({ps}, lr={lr})", 1),
    ("{optim}.Adagrad({ps}, lr={lr})", 1),
    ("{optim}.Adam(params={ps}, lr={lr})", 1),
    ("{optim}.SGD([{{'params': {ps}}}], lr={lr})", 1),
)


def optimizer_text(p: Program, parameters: str) -> str:
    """Return the making of an optimizer over an expression of parameters."""
    template = p.rng.choices([text for text, _ in OPTIMIZERS], [often for _, often in OPTIMIZERS])[0]
    return p.text(template, ps=parameters, lr=rate(p))


def optimizer(p: Program, parameters: str, *names: str) -> str:
    """Write an optimizer."""
    return p.let("{e}", *(names or ("optimizer", "opt", "optim_", "sgd")), e=optimizer_text(p, parameters))


def batch(p: Program, width: int, rows: int = 3, *names: str) -> Var:
    """Write a batch of inputs."""
    return p.tensor(
        (rows, width),
        p.pick("{t}.randn({r}, {w})", "{t}.rand({r}, {w})", "{t}.ones({r}, {w}) * 0.5"),
        *(names or ("x", "inputs", "xb", "data", "features", "batch")),
        r=rows,
        w=width,
    )


def targets(p: Program, width: int, rows: int = 3) -> Var:
    """Write targets of a regression."""
    return p.tensor(
        (rows, width),
        p.pick("{t}.randn({r}, {w})", "{t}.zeros({r}, {w})", "{t}.rand({r}, {w})"),
        "y",
        "target",
        "targets",
        "labels",
        "yb",
        r=rows,
        w=width,
    )


def criterion(p: Program, prediction: str, target: str) -> str:
    """Return the text of a regression loss, a single number."""
    return p.text(
        p.pick(
            "{F}.mse_loss({a}, {b})",
            "{nn}.MSELoss()({a}, {b})",
            "(({a} - {b}) ** 2).mean()",
            "({a} - {b}).pow(2).sum()",
            "{F}.l1_loss({a}, {b})",
            "{F}.smooth_l1_loss({a}, {b})",
            "{t}.mean(({a} - {b}) ** 2)",
            "{F}.mse_loss({a}, {b}, reduction='sum')",
            "{nn}.functional.mse_loss({a}, {b})",
            "({a} - {b}).abs().mean()",
            "{nn}.SmoothL1Loss()({a}, {b})",
        ),
        a=prediction,
        b=target,
    )


def step(p: Program, optimizer_name: str, loss: str) -> None:
    """Write the usual three calls."""
    order = p.pick(
        "{o}.zero_grad()\n{l}.backward()\n{o}.step()",
        "{o}.zero_grad()\n{l}.backward()\n{o}.step()",
        "{o}.zero_grad(set_to_none=True)\n{l}.backward()\n{o}.step()",
        "{l}.backward()\n{o}.step()\n{o}.zero_grad()",
    )
    p.line(order, o=optimizer_name, l=loss)
