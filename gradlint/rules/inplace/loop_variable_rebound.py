"""GRD113: a loop over parameters gives its variable another value, and the parameters stay as they are."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault import inplace as fault
from gradlint.rules.base import Bad, Good, Report, Rule


class LoopVariableRebound(Rule):
    """A loop over parameters gives its variable another value, and the parameters stay as they are.

    What torch does
        Nothing. `p = p - lr * p.grad` computes a tensor and gives it a name; the parameter, which the
        module holds, does not change. The next turn of the loop gives the name away again.

    Why it matters
        The target network of an agent is never updated, the hand-written optimizer never trains, and
        nothing is printed.

    When it may be wrong
        Where the variable is read behind the loop. Within it nothing reads it, or the assignment is not
        reported.

    Instead
        Write into the parameter: `with torch.no_grad(): p.copy_(...)`, or `p.sub_(lr * p.grad)`.

    References
        https://docs.python.org/3/reference/simple_stmts.html#assignment-statements
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.copy_.html
    """

    code = "GRD113"
    name = "loop-variable-rebound"
    effect = "silent"
    events = (fault.LoopVariableAssigned,)
    bad = (
        Bad(
            """\
import torch
from torch import nn

policy, target = nn.Linear(2, 1), nn.Linear(2, 1)
before = target.weight.clone()
for own, slow in zip(policy.parameters(), target.parameters()):
    slow = 0.1 * own + 0.9 * slow  # GRD113
""",
            shows="torch.equal(before, target.weight)",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

policy, target = nn.Linear(2, 1), nn.Linear(2, 1)
before = target.weight.clone()
with torch.no_grad():
    for own, slow in zip(policy.parameters(), target.parameters()):
        slow.copy_(0.1 * own + 0.9 * slow)
""",
            shows="not torch.equal(before, target.weight)",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """An assignment to the variable of a loop over parameters, of which nobody reads the value."""
        hint = "write into the parameter: `with torch.no_grad(): p.copy_(...)`"
        yield Report(
            event.node, "this gives the loop's variable another value, and the parameter stays as it is", hint=hint
        )
