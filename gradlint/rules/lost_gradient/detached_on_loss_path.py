"""GRD309: `detach` stands on the only way from a loss to the parameters it should train."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.fault.lost_gradient import LostLeaf
from gradlint.rules.authoring.lost import report, without_call
from gradlint.rules.base import Bad, Good, Report, Rule

_RAISES = "element 0 of tensors does not require grad"


class DetachedOnLossPath(Rule):
    """`detach` stands on the only way from a loss to the parameters it should train.

    What torch does
        `t.detach()` has the values of `t` and no graph. A loss behind it alone raises in backward:
        "element 0 of tensors does not require grad and does not have a grad_fn". Where something else
        has a graph, backward runs, and the parameters behind the `detach` get no gradient. So it is with
        `copy.deepcopy(net)`: the copy has leaves of its own, and what trains it leaves `net` as it is.

    Why it matters
        The generator of a GAN that is judged on `fake.detach()`, the actor whose action is detached
        before the critic sees it, the copy that a meta-learner adapts: the optimizer steps, and nothing
        moves.

    When it may be wrong
        A `detach` is a wish: targets, advantages, and the discriminator's fakes need one. So it is
        reported only where it stands in for the whole graph of a loss, or where an optimizer holds
        parameters that no backward of the program ever reaches. A copy is reported only where every step
        of an optimizer finds no gradient in any parameter.

    Instead
        Take the `detach` away from the loss that trains the parameters. A second loss, which must not
        train them, may have its own detached copy.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.detach.html
        https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html
    """

    code = "GRD309"
    name = "detached-on-loss-path"
    effect = "silent"
    events = (LostLeaf,)
    fix = "unsafe"
    bad = (
        Bad(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
prediction = model(torch.randn(8, 4)).detach()  # GRD309
loss = prediction.pow(2).mean()
loss.backward()  # raises
""",
            error=_RAISES,
        ),
        Bad(
            """\
import torch
from torch import nn

generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
g_step = torch.optim.SGD(generator.parameters(), lr=0.1)
d_step = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(2):
    fake = generator(torch.randn(8, 2))
    d_step.zero_grad()
    critic(fake.detach()).mean().backward()
    d_step.step()
    g_step.zero_grad()
    (-critic(fake.detach()).mean()).backward()  # GRD309
    g_step.step()
""",
            shows="grad_is_none(generator.weight)",
        ),
        Bad(
            """\
import copy

import torch
from torch import nn

net = nn.Linear(4, 1)
outer = torch.optim.Adam(net.parameters(), lr=0.1)
for _ in range(2):
    fast = copy.deepcopy(net)  # GRD309
    inner = torch.optim.SGD(fast.parameters(), lr=0.1)
    fast(torch.ones(2, 4)).pow(2).mean().backward()
    inner.step()
    outer.zero_grad()
    fast(torch.ones(2, 4)).pow(2).mean().backward()
    outer.step()
""",
            shows="grad_is_none(net.weight)",
        ),
        Bad(
            """\
import torch
from torch import nn

enc, dec = nn.Linear(2, 2), nn.Linear(2, 1)
optimizer = torch.optim.SGD([*enc.parameters(), *dec.parameters()], lr=0.1)
for x in torch.randn(5, 4, 2):
    z = enc(x).detach()  # GRD309
    optimizer.zero_grad()
    dec(z).mean().backward()
    optimizer.step()
""",
            shows="grad_is_none(enc.weight)",
        ),
    )
    good = (
        Good(
            """\
import torch
from torch import nn

generator, critic = nn.Linear(2, 4), nn.Linear(4, 1)
g_step = torch.optim.SGD(generator.parameters(), lr=0.1)
d_step = torch.optim.SGD(critic.parameters(), lr=0.1)
for _ in range(2):
    fake = generator(torch.randn(8, 2))
    d_step.zero_grad()
    critic(fake.detach()).mean().backward()
    d_step.step()
    g_step.zero_grad()
    (-critic(fake).mean()).backward()
    g_step.step()
""",
            shows="generator.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

model = nn.Linear(4, 1)
x = torch.randn(8, 4)
target = model(x).detach() + 1
(model(x) - target).pow(2).mean().backward()
""",
            shows="model.weight.grad is not None",
        ),
        Good(
            """\
import copy

import torch
from torch import nn

net = nn.Linear(4, 1)
outer = torch.optim.Adam(net.parameters(), lr=0.1)
for _ in range(2):
    fast = copy.deepcopy(net)
    inner = torch.optim.SGD(fast.parameters(), lr=0.1)
    fast(torch.ones(2, 4)).pow(2).mean().backward()
    inner.step()
    inner.zero_grad()
    fast(torch.ones(2, 4)).pow(2).mean().backward()
    for own, quick in zip(net.parameters(), fast.parameters()):
        own.grad = quick.grad
    outer.step()
""",
            shows="net.weight.grad is not None",
        ),
        Good(
            """\
import torch
from torch import nn

net, frozen = nn.Linear(2, 2), nn.Linear(2, 2)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
for x in torch.randn(5, 4, 2):
    optimizer.zero_grad()
    (net(x) - frozen(x).detach()).pow(2).mean().backward()
    optimizer.step()
""",
            shows="net.weight.grad is not None",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A detach on the only way to a leaf."""
        assert isinstance(event, LostLeaf)
        if event.kind == "copy" and event.idle:
            hint = "give the optimizer the parameters of the copy, or bring the gradients of the copy back to them"
            yield report(event, "what is trained is a copy, with parameters of its own", hint)
        if event.kind != "detach":
            return
        repair = without_call(event, "take the `detach` away") if event.op == "detach" else None
        hint = "take the `detach` away from the loss that should train what lies behind it"
        yield report(event, "`detach` is on the only way to what should be trained", hint, repair)
