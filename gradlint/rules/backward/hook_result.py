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
    torch_says = ("hook .* has changed", "but hook returned", "hooks should return None")
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
