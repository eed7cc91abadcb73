from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import modules as refusal
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Before, EventRule, Repair, Report


class SuperInitMissing(EventRule[refusal.SuperInitMissing]):
    """A module's `__init__` assigns submodules or parameters before `nn.Module.__init__` has run.

    What torch does
        It raises an AttributeError: "cannot assign module before Module.__init__() call", or the same
        error for parameters. `nn.Module.__init__` creates the registries of submodules and
        parameters; without them the module can neither be called nor list its parameters.

    Why it matters
        The module cannot be created at all.

    When it may be wrong
        If a metaclass or decorator that gradlint does not see runs `nn.Module.__init__` first.

    Instead
        Call `super().__init__()` in the first line of `__init__`. The fix adds the call if `__init__` has none.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Module.html
    """

    code = "GRD612"
    name = "super-init-missing"
    effect = "raises"
    raises = r"before Module.__init__\(\) call"
    fix = "safe"
    bad = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        self.fc = nn.Linear(3, 2)  # GRD612

    def forward(self, x):
        return self.fc(x)


Net()
"""
    good = """\
import torch
from torch import nn


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)

    def forward(self, x):
        return self.fc(x)


Net()
"""

    def check(self, event: refusal.SuperInitMissing) -> Report | None:
        return Report(
            event.node,
            "`nn.Module.__init__` has not run on this module: torch raises here",
            hint="call `super().__init__()` in the first line of `__init__`",
            related=((event.init, "this `__init__`"),),
            repair=_first_line(event.init) if isinstance(event.init, cst.FunctionDef) else None,
        )


def _first_line(init: cst.FunctionDef) -> Repair | None:
    """Insert the call before the first statement, unless `__init__` calls it later."""
    if not isinstance(init.body, cst.IndentedBlock) or "__init__(" in source(init.body):
        return None
    return Repair("call `super().__init__()` first", (Before(_after_docstring(init.body), "super().__init__()"),))


def _after_docstring(body: cst.IndentedBlock) -> cst.CSTNode:
    first = body.body[0]
    is_docstring = (
        isinstance(first, cst.SimpleStatementLine)
        and isinstance(first.body[0], cst.Expr)
        and isinstance(first.body[0].value, (cst.SimpleString, cst.ConcatenatedString))
    )
    return body.body[1] if is_docstring and len(body.body) > 1 else first
