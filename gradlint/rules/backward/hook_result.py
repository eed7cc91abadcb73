from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report


class HookResult(EventRule[refusal.HookResult]):
    """A hook returns a value that cannot replace a gradient, a saved tensor, or the arguments or output of a module.

    What torch does
        The value returned by a hook of `register_hook` replaces the gradient, unless it is None. A value that is not a
        tensor, or is a tensor of another shape or dtype, raises in backward: "hook has changed the size of value". A
        hook of `register_post_accumulate_grad_hook` must not return anything. A full backward hook of a module returns
        one gradient for each positional argument of the module, and nothing if none of them requires grad; a full
        backward pre-hook returns one for each output. A forward pre-hook that is registered with `with_kwargs=True`
        returns a pair of arguments and keywords. What a forward hook returns replaces the output. The unpack hook of
        `saved_tensors_hooks` returns a tensor. A hook of a node, as of `y.grad_fn.register_hook`, returns a tuple of as
        many gradients as it was given to replace.

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
    torch_says = (
        "hook .* has changed",
        "but hook returned",
        "hooks should return None",
        "hook returned an invalid number of grad_",
        "has returned an incorrect number of values",
        "where no input requires gradient should always return None",
        "has no len",
        "hook must return None",
        "are not expected to return new values",
        "Output of saved tensor unpack_hook expected to be a Tensor",
    )
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
        if event.returned == "output":
            return Report(
                event.node,
                "this forward hook replaces the output of its module by what it returns, which is not a tensor",
                hint="return None from a hook that only inspects the output",
                effect="fragile",
            )
        here = dict.fromkeys(("pair", "saved", "loaded"), "at this call")
        at = {**here, "unpacked": "in backward"}.get(event.returned, "in this backward")
        return Report(
            event.node,
            f"{_SAID[event.returned]}: torch raises {at}",
            hint=_HINTS.get(event.returned, "return None from a hook that only inspects the gradient"),
            related=((event.hook, "this hook returns it"),),
        )


_SAID: dict[refusal.Returned, str] = {
    "something": "a post-accumulate-grad hook returns a value, but it must return None",
    "other": "a hook returns a value that is not a tensor",
    "shape": "a hook returns a gradient of a different shape",
    "dtype": "a hook returns a gradient of a different dtype",
    "count": "a backward hook returns another number of gradients than it was given to replace",
    "unwanted": "a full backward hook returns a gradient, but no argument of the module requires grad",
    "pair": "a forward pre-hook with keywords returns something else than a pair of arguments and keywords",
    "unpacked": "the unpack hook returns something that is not a tensor",
    "single": "a hook of a node returns something that is not a tuple",
    "saved": "a hook of `register_state_dict_post_hook` returns a value, but it must return None",
    "loaded": "a hook of `register_load_state_dict_post_hook` returns a value, but it must return None",
}
_HINTS: dict[refusal.Returned, str] = {
    "count": "return a tuple with one gradient for each, or None",
    "unwanted": "return None if `grad_input` is None",
    "pair": "return `(args, kwargs)`, or None",
    "unpacked": "return the tensor",
    "single": "return a tuple of gradients, or None",
    "saved": "change the dictionary that the hook is given in place",
    "loaded": "change the lists that the hook is given in place",
}
