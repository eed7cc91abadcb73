from __future__ import annotations

from gradlint.domain.fault import inplace as fault
from gradlint.rules.base import EventRule, Report


class LoopVariableRebound(EventRule[fault.LoopVariableAssigned]):
    """A loop over parameters assigns to its loop variable, and the parameters do not change.

    What torch does
        Nothing. `p = p - lr * p.grad` computes a new tensor and binds the name `p` to it. The
        parameter in the module does not change, and the next iteration rebinds the name.

    Why it matters
        The target network of an agent is never updated, the hand-written optimizer never trains, and
        there is no error or warning.

    When it may be wrong
        If the variable is read after the loop. An assignment whose value is read inside the loop is not reported.

    Instead
        Write to the parameter: `with torch.no_grad(): p.copy_(...)`, or `p.sub_(lr * p.grad)`.

    References
        https://docs.python.org/3/reference/simple_stmts.html#assignment-statements
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.copy_.html
    """

    code = "GRD113"
    name = "loop-variable-rebound"
    effect = "silent"
    bad = """\
import torch
from torch import nn

policy, target = nn.Linear(2, 1), nn.Linear(2, 1)
before = target.weight.clone()
for own, slow in zip(policy.parameters(), target.parameters()):
    slow = 0.1 * own + 0.9 * slow  # GRD113
"""
    bad_shows = "torch.equal(before, target.weight)"
    good = """\
import torch
from torch import nn

policy, target = nn.Linear(2, 1), nn.Linear(2, 1)
before = target.weight.clone()
with torch.no_grad():
    for own, slow in zip(policy.parameters(), target.parameters()):
        slow.copy_(0.1 * own + 0.9 * slow)
"""
    good_shows = "not torch.equal(before, target.weight)"

    def check(self, event: fault.LoopVariableAssigned) -> Report | None:
        hint = "write to the parameter: `with torch.no_grad(): p.copy_(...)`"
        return Report(event.node, "this only rebinds the loop variable: the parameter does not change", hint=hint)
