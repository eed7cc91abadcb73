"""GRD604: modules or parameters stand in a plain list, tuple or dict, where torch does not find them."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.fault import modules as fault
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Bad, Change, Good, Repair, Report, Rule


class ModuleInContainer(Rule):
    """Modules or parameters stand in a plain list, tuple or dict, where torch does not find them.

    What torch does
        A module registers the modules and parameters that are assigned to it as attributes. What is
        inside a plain container is not looked at: `parameters()`, `state_dict()`, `to()`, `train()` and
        `requires_grad_()` pass it by.

    Why it matters
        An optimizer over `model.parameters()` never trains these layers, without a word; they are not
        saved, not moved to the GPU, and their dropout stays on in evaluation.

    When it may be wrong
        Where the parameters are given to an optimizer in a way that gradlint does not see. A network
        that comes from outside and is kept in a list so as not to be registered, modules that are
        registered beside the list, frozen ones, and ones only called under `no_grad` are not reported.

    Instead
        Wrap the container: `nn.ModuleList([...])`, `nn.ModuleDict({...})`, and for parameters
        `nn.ParameterList([...])`, `nn.ParameterDict({...})`. The fix does so where the container is
        written out in one place.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html
    """

    code = "GRD604"
    name = "module-in-container"
    effect = "silent"
    events = (fault.ModuleInContainer, fault.ParameterInContainer)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = [nn.Linear(4, 4) for _ in range(depth)]  # GRD604
        self.head = nn.Linear(4, 1)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x).relu()
        return self.head(x)


model = Net(3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
before = model.layers[0].bias.clone()
model(torch.ones(2, 4)).sum().backward()
optimizer.step()
""",
            shows="len(list(model.parameters())) == 2 and torch.equal(before, model.layers[0].bias)",
        ),
        Bad(
            """\
import torch
from torch import nn


class Heads(nn.Module):
    def __init__(self, names):
        super().__init__()
        self.body = nn.Linear(4, 4)
        self.heads = {name: nn.Linear(4, 1) for name in names}  # GRD604

    def forward(self, x, name):
        return self.heads[name](self.body(x).relu())


model = Heads(["depth", "label"])
model(torch.ones(2, 4), "depth").sum().backward()
""",
            shows="set(model.state_dict()) == {'body.weight', 'body.bias'}",
        ),
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = []  # GRD604
        for size in (8, 4):
            self.blocks.append(nn.Linear(size, size // 2))

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return x


model = Net()
model(torch.ones(2, 8)).sum().backward()
""",
            shows="not list(model.parameters())",
        ),
        Bad(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.heads = {name: nn.Linear(2, 1) for name in "ab"}  # GRD604

    def forward(self, x):
        return sum(head(self.fc(x)) for head in self.heads.values())


net = Net()
net(torch.ones(1, 2))
""",
            shows="len(list(net.parameters())) == 2",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(depth)])
        self.activations = [nn.ReLU(), nn.Tanh()]

    def forward(self, x):
        for layer in self.layers:
            for activation in self.activations:
                x = activation(layer(x))
        return x


model = Net(3)
model(torch.ones(2, 4)).sum().backward()
""",
            shows="len(list(model.parameters())) == 6",
        ),
        Good(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, depth):
        super().__init__()
        self.layers = []
        for index in range(depth):
            layer = nn.Linear(4, 4)
            self.add_module(f"layer{index}", layer)
            self.layers.append(layer)

    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


model = Net(2)
model(torch.ones(2, 4)).sum().backward()
""",
            shows="len(list(model.parameters())) == 4",
        ),
        Good(
            """\
import torch
from torch import nn


class Student(nn.Module):
    def __init__(self, teacher):
        super().__init__()
        self.fc = nn.Linear(4, 1)
        self.teacher = [teacher]  # kept out of the parameters on purpose

    def forward(self, x):
        return (self.fc(x) - self.teacher[0](x)).pow(2).mean()


model = Student(nn.Linear(4, 1))
model(torch.ones(2, 4)).backward()
""",
            shows="len(list(model.parameters())) == 2",
        ),
        Good(
            """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.heads = nn.ModuleDict({name: nn.Linear(2, 1) for name in "ab"})

    def forward(self, x):
        return sum(head(self.fc(x)) for head in self.heads.values())


net = Net()
net(torch.ones(1, 2))
""",
            shows="len(list(net.parameters())) == 6",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """Report where the attribute got the container."""
        if isinstance(event, fault.ParameterInContainer):
            what, kind = "parameters", "Parameter"
            related = [(event.made, "a parameter in it is made here")]
        else:
            assert isinstance(event, fault.ModuleInContainer)
            what, kind = "modules", "Module"
            related = [] if event.made is None else [(event.made, "a module in it is made here")]
            related.append((event.called, "it is called here"))
        yield Report(
            event.node,
            f"{what} in a plain container are not registered: the parameters in `{event.name}` are never trained",
            hint=f"use `nn.{kind}List` or `nn.{kind}Dict`",
            related=tuple(related),
            repair=_wrapped(event.node, kind),
        )


def _wrapped(node: cst.CSTNode, kind: str) -> Repair | None:
    """The container in its registering twin, where the statement writes it out."""
    value = node.value if isinstance(node, (cst.Assign, cst.AnnAssign)) else None
    if value is None or (isinstance(node, cst.Assign) and len(node.targets) != 1):
        return None
    if isinstance(value, (cst.List, cst.ListComp)):
        twin = f"{kind}List"
    elif isinstance(value, (cst.Dict, cst.DictComp)) and _has_text_keys(value):
        twin = f"{kind}Dict"
    else:
        return None
    inner = "" if isinstance(value, cst.List) and not value.elements else source(value)
    change = Change(value, f"torch.nn.{twin}({inner})")
    return Repair(f"Use `nn.{twin}`", (change,), safe=False, imports=("torch.nn",))


def _has_text_keys(value: cst.Dict | cst.DictComp) -> bool:
    """Whether all keys are certainly texts, the only ones that `nn.ModuleDict` takes."""
    if isinstance(value, cst.DictComp):
        return False
    keys = [element.key for element in value.elements if isinstance(element, cst.DictElement)]
    return len(keys) == len(value.elements) and all(isinstance(key, cst.SimpleString) for key in keys)
