from __future__ import annotations

import libcst as cst

from gradlint.domain.fault import modules as fault
from gradlint.domain.finding import Severity
from gradlint.rules.authoring.phrases import source
from gradlint.rules.base import Change, EventRule, Repair, Report


class NetworkAlias(EventRule[fault.NetworkAlias | fault.NetworkRepeated]):
    """Two names refer to the same network where the program needs two networks.

    What torch does
        `target = policy` copies nothing: both names refer to the same object with the same parameters,
        and so do all items of `[Net()] * 3`. Loading the state of one into the other, or averaging one
        into the other, writes the parameters to themselves.

    Why it matters
        The target network changes with every step, the teacher is the student, the average is the
        last value, or the ensemble has one member. Training runs, but the algorithm is wrong.

    When it may be wrong
        If a function that copies between two networks is called with one network on purpose. Only
        names between which the program copies are reported.

    Instead
        Write `target = copy.deepcopy(policy)`, or create a second network and load the first one's
        state. The fix adds the copy.

    References
        https://docs.python.org/3/library/copy.html
        https://docs.pytorch.org/docs/stable/notes/serialization.html
    """

    code = "GRD609"
    name = "network-alias"
    effect = "silent"
    fix = "unsafe"
    bad = """\
import torch
from torch import nn

policy_net = nn.Linear(4, 2)
target_net = policy_net  # GRD609
target_net.load_state_dict(policy_net.state_dict())
optimizer = torch.optim.SGD(policy_net.parameters(), lr=0.1)
policy_net(torch.ones(1, 4)).sum().backward()
before = target_net.weight.clone()
optimizer.step()
"""
    bad_shows = "not torch.equal(target_net.weight, before)"
    good = """\
import copy

import torch
from torch import nn

policy_net = nn.Linear(4, 2)
target_net = copy.deepcopy(policy_net)
target_net.load_state_dict(policy_net.state_dict())
ensemble = [nn.Linear(4, 1) for _ in range(3)]
optimizer = torch.optim.SGD(policy_net.parameters(), lr=0.1)
policy_net(torch.ones(1, 4)).sum().backward()
before = target_net.weight.clone()
optimizer.step()
"""
    good_shows = "torch.equal(target_net.weight, before)"

    @property
    def severity(self) -> Severity:
        """Return what its figure in real code allows: some lists share a network on purpose."""
        return "warning"

    def check(self, event: fault.NetworkAlias | fault.NetworkRepeated) -> Report | None:
        """Report a second name for a network that the program then copies to or from itself."""
        if isinstance(event, fault.NetworkRepeated):
            return Report(
                event.node,
                "this list contains the same network several times: all items share their parameters",
                hint="create each separately: `[Net() for _ in range(n)]`",
            )
        if not event.one:
            return Report(
                event.node,
                "this copies the parameters of a network to themselves: it changes nothing",
                hint="give it the network that is trained, and make the other one by `copy.deepcopy(...)`",
            )
        return Report(
            event.node,
            "this is a second name for the same network, not a copy: it changes with every training step",
            hint="use `copy.deepcopy(...)`",
            related=((event.apart, f"`{event.one}` and `{event.other}` are used as two networks here"),),
            repair=_copied(event.node),
        )


def _copied(node: cst.CSTNode) -> Repair | None:
    """Replace the alias by a copy, which changes the values as intended."""
    value = node.value if isinstance(node, cst.Assign) else node
    if not isinstance(value, (cst.Name, cst.Attribute)):
        return None
    change = Change(value, f"copy.deepcopy({source(value)})")
    return Repair("copy the network", (change,), safe=False, imports=("copy.deepcopy",))
