from __future__ import annotations

import libcst as cst

from gradlint.domain.refusal import inplace as refusal
from gradlint.rules.authoring.arguments import keyword_of, without
from gradlint.rules.authoring.phrases import operation
from gradlint.rules.authoring.repairs import code, under_no_grad
from gradlint.rules.base import EventRule, Repair, Report, Statement


class OutRequiresGrad(EventRule[refusal.OutRequiresGrad]):
    """`out=` is used where an argument requires grad.

    What torch does
        It raises a RuntimeError: "functions with out=... arguments don't support automatic differentiation, but one of
        the arguments requires grad." It does so for inputs and for the target alike, as long as grad mode is on.

    Why it matters
        `out=` saves an allocation, but autograd cannot record a result that is written to an existing tensor.

    When it may be wrong
        If the line is never executed, or if code that gradlint does not see disables grad mode.

    Instead
        Assign the result (`y = torch.mm(a, b)`), write it to a part of a buffer (`buffer[0] =
        torch.mm(a, b)`), which autograd records, or compute under `torch.no_grad()`.

    References
        https://docs.pytorch.org/docs/stable/notes/autograd.html#in-place-operations-with-autograd
        https://docs.pytorch.org/docs/stable/generated/torch.no_grad.html
    """

    code = "GRD110"
    name = "out-requires-grad"
    effect = "raises"
    raises = "functions with out=... arguments don't support automatic differentiation"
    fix = "safe or unsafe"
    bad = """\
import torch

w = torch.randn(3, 3, requires_grad=True)
y = torch.empty(2, 3)
torch.mm(torch.randn(2, 3), w, out=y)  # GRD110
"""
    good = """\
import torch

w = torch.randn(3, 3, requires_grad=True)
y = torch.mm(torch.randn(2, 3), w)
y.sum().backward()
"""

    def check(self, event: refusal.OutRequiresGrad) -> Report | None:
        op = operation(event.op, event.node)
        return Report(
            event.node,
            f"{op} has `out=` and an argument that requires grad: torch raises here",
            hint="assign the result instead, or compute it under `torch.no_grad()`",
            repair=_assigned(event.node),
        )


def _assigned(node: cst.CSTNode) -> Repair | None:
    """Turn the statement `f(x, out=y)` into `y = f(x)`; if `y` is also an argument, run the statement under no_grad."""
    given = keyword_of(node, "out") if isinstance(node, cst.Call) else None
    if not isinstance(node, cst.Call) or given is None or not isinstance(given.value, cst.Name):
        return None
    name = given.value.value
    if any(code(arg.value) == name for arg in node.args if arg is not given):
        return under_no_grad(node, safe=False)
    return Repair(f"write `{name} = ...`", (Statement(node, f"{name} = {code(without(node, given))}"),))
