from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import spelling as fault
from gradlint.rules.authoring.arguments import keyword_of
from gradlint.rules.authoring.phrases import article
from gradlint.rules.base import Change, EventRule, Repair, Report


class MisspeltName(EventRule[fault.MisspeltName]):
    """A name is misspelt: it is read and torch does not have it, or it is assigned and nothing reads it.

    What torch does
        Python raises an AttributeError: "'Tensor' object has no attribute 'backwards'", an ImportError
        for an import, or, for an argument, a TypeError: "unexpected keyword argument". An assignment does
        not raise: `x.require_grad = True` creates a new attribute and silently changes nothing else. If the flag has
        that value anyway, this is a warning.

    Why it matters
        The line may run only after an hour of training. A misspelt assignment is never noticed: a layer
        that should be frozen is trained, or a tensor that should be trained gets no gradient.

    When it may be wrong
        If the name exists in a version of torch that was not measured (2.0 to 2.14 were), and it is not guarded by
        `try` or `hasattr`. Attribute names are checked only if every possible class of the object is known.

    Instead
        Write the correct name; the finding suggests the most similar one.

    References
        https://docs.pytorch.org/docs/stable/tensors.html
        https://docs.pytorch.org/docs/stable/nn.html
    """

    code = "GRD801"
    name = "misspelt-name"
    effect = "raises"
    raises = "'Tensor' object has no attribute 'backwards'"
    fix = "safe or unsafe"
    torch_says = (
        "'Linear' object has no attribute 'paramters'",
        "'Tensor' object has no attribute 'backwards'",
        "does not require grad and does not have a grad_fn",
        "module 'torch.nn.functional' has no attribute 'soft_max'",
        "unexpected keyword argument 'momentun'",
        "unexpected keyword argument 'require_grad'",
    )
    bad = """\
import torch

x = torch.randn(3, requires_grad=True)
loss = (x**2).sum()
loss.backwards()  # GRD801
"""
    good = """\
import torch
import torch.nn.functional as F
from torch import nn

model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
optimizer.zero_grad()
F.softmax(model(torch.randn(2, 3)), dim=1).sum().backward()
"""

    def check(self, event: fault.MisspeltName) -> Report | None:
        """Report a misspelt name, with the most similar name that exists."""
        owner = f"`{event.owner}`" if event.owner.startswith("torch") else f"{article(event.owner)} {event.owner}"
        if event.keyword:
            message = f"{owner} has no argument `{event.name}`: torch raises here"
        elif event.assigned:
            message = f"{owner} has no attribute `{event.name}`: this creates one, and `{event.meant}` does not change"
        else:
            message = f"{owner} has no `{event.name}`: Python raises here"
        return Report(
            event.node,
            message,
            hint=f"did you mean `{event.meant}`?" if event.meant else None,
            effect=("fragile" if event.needless else "silent") if event.assigned else None,
            repair=_repair(event),
        )


def _repair(event: fault.MisspeltName) -> Repair | None:
    """Write the suggested name, safe if the two differ only in form; one of another owner is left to the user."""
    if "." in event.meant or not event.meant:
        return None
    safe = event.certain and not event.assigned
    if event.keyword:
        given = keyword_of(event.node, event.name) if isinstance(event.node, cst.Call) else None
        name = None if given is None else given.keyword
        return None if name is None else Repair(f"write `{event.meant}`", (Change(name, event.meant),), safe)
    node = _attribute(event.node, event.name)
    if node is None:
        return None
    return Repair(f"write `{event.meant}`", (Change(node.attr, event.meant),), safe)


def _attribute(node: cst.CSTNode, name: str) -> cst.Attribute | None:
    """Return the attribute of that name: the reported node, or the only target of an assignment."""
    if isinstance(node, cst.Assign) and len(node.targets) == 1:
        node = node.targets[0].target
    elif isinstance(node, cst.AssignTarget):
        node = node.target
    return node if isinstance(node, cst.Attribute) and node.attr.value == name else None
