from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal.modules import ContainerWantsList as Refused
from gradlint.rules.authoring.repairs import code
from gradlint.rules.base import Change, EventRule, Repair, Report


class ContainerWantsAList(EventRule[Refused]):
    """`nn.ModuleList` is given modules instead of a list of them, or `nn.Sequential` a list instead of modules.

    What torch does
        It raises a TypeError: "ModuleList.__init__() takes from 1 to 2 positional arguments but 3 were given",
        "ModuleList.extend should be called with an iterable", or "list is not a Module subclass".

    Why it matters
        `nn.Sequential` takes its modules one by one, `nn.ModuleList` and `nn.ParameterList` take a list: the two are
        easily mixed up, and the line is reached only when the network is made.

    When it may be wrong
        If the line is never executed.

    Instead
        `nn.ModuleList([a, b])`, `nn.Sequential(a, b)`, and `nn.Sequential(*layers)` for a list.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.nn.ModuleList.html
        https://docs.pytorch.org/docs/stable/generated/torch.nn.Sequential.html
    """

    code = "GRD615"
    name = "container-wants-a-list"
    effect = "raises"
    raises = "takes from 1 to 2 positional arguments"
    torch_says = (
        "takes from 1 to 2 positional arguments",
        "should be called with an iterable",
        "is not a Module subclass",
    )
    fix = "safe"
    bad = """\
import torch

layers = torch.nn.ModuleList(torch.nn.Linear(3, 3), torch.nn.Linear(3, 1))  # GRD615
"""
    good = """\
import torch

layers = torch.nn.ModuleList([torch.nn.Linear(3, 3), torch.nn.Linear(3, 1)])
"""

    def check(self, event: Refused) -> Report | None:
        if event.given == "list":
            message, hint = "is given a list instead of its modules", "unpack the list: `nn.Sequential(*layers)`"
        else:
            message, hint = "takes one list of its parts, and is given the parts", "put the parts into a list"
        return Report(
            event.node,
            f"`nn.{event.container}` {message}: torch raises here",
            hint=hint,
            repair=_listed(event.node) if event.given == "several" else None,
        )


def _listed(node: cst.CSTNode) -> Repair | None:
    """Put the arguments in brackets."""
    if not isinstance(node, cst.Call) or len(node.args) < 2 or any(arg.keyword or arg.star for arg in node.args):
        return None
    first, last = node.args[0].value, node.args[-1].value
    return Repair("put the parts into a list", (Change(first, f"[{code(first)}"), Change(last, f"{code(last)}]")))
