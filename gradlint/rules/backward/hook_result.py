from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report


class HookResult(EventRule[refusal.HookResult]):
    """A hook of a tensor returns a value that cannot replace its gradient.

    What torch does
        The value returned by a hook of `register_hook` replaces the gradient, unless it is None. A value that is not a
        tensor, or is a tensor of another shape or dtype, raises in backward: "hook has changed the size of value". A
        hook of `register_post_accumulate_grad_hook` must not return anything.

    Why it matters
        A hook that only inspects the gradient should return None. A `lambda` always returns the value of
        its expression, such as a recorded norm or a tuple.

    When it may be wrong
        If the backward is never executed.

    Instead
        Write a function without a `return` statement, or return a gradient of the same shape and dtype.

    References
        https://docs.pytorch.org/docs/stable/generated/torch.Tensor.register_hook.html
        https://docs.pytorch.org/docs/stable/notes/autograd.html#backward-hooks-execution
    """

    code = "GRD228"
    name = "hook-result"
    effect = "raises"
    raises = "has changed the size of value"
    torch_says = ("hook .* has changed", "but hook returned", "hooks should return None")
    bad = """\
import torch

x = torch.randn(4, requires_grad=True)
y = x * 2
y.register_hook(lambda g: g.norm())
y.sum().backward()  # GRD228
"""
    good = """\
import torch

seen = []
x = torch.randn(4, requires_grad=True)
y = x * 2
y.register_hook(lambda g: seen.append(g.norm()))
y.register_hook(lambda g: g.clamp(-1, 1))
y.sum().backward()
"""
    good_shows = "len(seen) == 1"

    def check(self, event: refusal.HookResult) -> Report | None:
        what = {
            "something": "a post-accumulate-grad hook returns a value, but it must return None",
            "other": "a hook returns a value that is not a tensor",
            "shape": "a hook returns a gradient of a different shape",
            "dtype": "a hook returns a gradient of a different dtype",
        }[event.returned]
        return Report(
            event.node,
            f"{what}: torch raises in this backward",
            hint="return None from a hook that only inspects the gradient",
            related=((event.hook, "this hook returns it"),),
        )
