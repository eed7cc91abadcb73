"""GRD228: a hook returns what cannot take the place of the gradient."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import Bad, Good, Report, Rule


class HookResult(Rule):
    """A hook of a tensor returns what cannot take the place of its gradient.

    What torch does
        What a hook of `register_hook` returns is used as the gradient from there on, unless it is None.
        Something other than a tensor, and a tensor of another shape or type, raises in backward: "hook has
        changed the size of value". A hook of `register_post_accumulate_grad_hook` must not return anything.

    Why it matters
        A hook that only looks should return nothing, and a `lambda` always returns something: the norm that
        it records, or the tuple of two things that it does.

    When it may be wrong
        Where the backward is never reached.

    Instead
        Write a function that ends without `return`, or return a gradient like the one that came.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#backward-hooks-execution
    """

    code = "GRD228"
    name = "hook-result"
    effect = "raises"
    events = (refusal.HookResult,)
    torch_says = r"hook .* has changed|but hook returned|hooks should return None"
    bad = (
        Bad(
            """\
import torch

x = torch.randn(4, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g.norm())
y.sum().backward()  # GRD228
""",
            error="has changed the size of value",
        ),
        Bad(
            """\
import torch

seen = []
x = torch.randn(4, requires_grad=True)
x.register_hook(lambda g: (seen.append(g), g))
(x * 2).sum().backward()  # GRD228
""",
            error="but hook returned",
        ),
        Bad(
            """\
import torch

x = torch.randn(4, requires_grad=True)
x.register_post_accumulate_grad_hook(lambda p: p.grad)
(x * 2).sum().backward()  # GRD228
""",
            error="hooks should return None",
        ),
        Bad(
            """\
import torch
from torch import nn


def to_half(grad):
    return grad.half()


layer = nn.Linear(3, 2)
layer.weight.register_hook(to_half)
layer(torch.randn(4, 3)).pow(2).mean().backward()  # GRD228
""",
            error="has changed the (size|type) of value",
        ),
    )
    good = (
        Good(
            """\
import torch

seen = []
x = torch.randn(4, requires_grad=True)
y = x * 2
y.register_hook(lambda g: seen.append(g.norm()))
y.register_hook(lambda g: g.clamp(-1, 1))
y.sum().backward()
""",
            shows="len(seen) == 1",
        ),
        Good(
            """\
import torch

norms = []


def note(parameter):
    norms.append(parameter.grad.norm())


x = torch.randn(4, requires_grad=True)
x.register_post_accumulate_grad_hook(note)
(x * 2).sum().backward()
""",
            shows="len(norms) == 1",
        ),
        Good(
            """\
import torch
from torch import nn

layer = nn.Linear(3, 2)
for parameter in layer.parameters():
    parameter.register_hook(lambda grad: torch.clamp(grad, -0.01, 0.01))
layer(torch.randn(4, 3)).pow(2).mean().backward()
""",
            shows="layer.weight.grad.abs().max() <= 0.01",
        ),
        Good(
            """\
import torch
from torch import nn

seen = []


def record(grad):
    seen.append(tuple(grad.shape))


hidden = nn.Linear(3, 2)(torch.randn(4, 3))
hidden.register_hook(record)
hidden.sum().backward()
""",
            shows="seen == [(4, 2)]",
        ),
    )

    def check(self, event: Event) -> Iterator[Report]:
        """A backward that runs such a hook."""
        assert isinstance(event, refusal.HookResult)
        what = {
            "something": "a hook of the accumulated gradient returns something, which it must not",
            "other": "a hook returns something that is no tensor",
            "shape": "a hook returns a gradient of another shape",
            "dtype": "a hook returns a gradient of another type",
        }[event.returned]
        yield Report(
            event.node,
            f"{what}: torch raises in this backward",
            hint="return nothing from a hook that only looks",
            related=((event.hook, "this hook returns it"),),
        )
