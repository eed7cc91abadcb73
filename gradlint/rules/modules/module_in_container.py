from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import modules as fault
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class ModuleInContainer(EventRule[fault.ModuleInContainer | fault.ParameterInContainer]):
    """Modules or parameters are stored in a plain list, tuple or dict, so they are not registered.

    What torch does
        A module registers the modules and parameters that are assigned to it as attributes. It does not search plain
        containers: `parameters()`, `state_dict()`, `to()`, `train()` and `requires_grad_()` ignore their contents.

    Why it matters
        An optimizer over `model.parameters()` silently never trains these layers. They are not saved,
        not moved to the GPU, and their dropout stays active in evaluation.

    When it may be wrong
        If code that gradlint does not see passes the parameters to an optimizer. Not reported are a
        network that is passed in and stored in a list so that it is not registered, modules that are
        also registered elsewhere, frozen modules, and modules only called under `no_grad`.

    Instead
        Wrap the container: `nn.ModuleList([...])`, `nn.ModuleDict({...})`, and for parameters
        `nn.ParameterList([...])`, `nn.ParameterDict({...})`. The fix does this if the container is
        written as a single expression.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleDict.html
    """

    code = "GRD604"
    name = "module-in-container"
    effect = "silent"
    fix = "unsafe"
    bad = """\
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
"""
    bad_shows = "len(list(net.parameters())) == 2"
    good = """\
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
"""
    good_shows = "len(list(net.parameters())) == 6"

    def check(self, event: fault.ModuleInContainer | fault.ParameterInContainer) -> Report | None:
        if isinstance(event, fault.ParameterInContainer):
            what, kind, called = "parameter", "Parameter", None
        else:
            what, kind, called = "module", "Module", event.called
        return Report(
            event.node,
            f"{what}s in a plain container are not registered: the parameters in `{event.name}` are never trained",
            hint=f"use `nn.{kind}List` or `nn.{kind}Dict`",
            related=((event.made, f"a {what} in it is created here"), (called, "the module is called here")),
            repair=_wrapped(event.node, kind),
        )


def _wrapped(node: cst.CSTNode, kind: str) -> Repair | None:
    """Wrap the container in its registering counterpart, if the statement contains it as an expression."""
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
    return Repair(f"use `nn.{twin}`", (change,), safe=False, imports=("torch.nn",))


def _has_text_keys(value: cst.Dict | cst.DictComp) -> bool:
    """Return whether all keys are strings, the only keys that `nn.ModuleDict` accepts."""
    if isinstance(value, cst.DictComp):
        return False
    keys = [element.key for element in value.elements if isinstance(element, cst.DictElement)]
    return len(keys) == len(value.elements) and all(isinstance(key, cst.SimpleString) for key in keys)
