from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.base import EventRule, Report


class SavedTensorMisused(EventRule[refusal.SavedTensorMisused]):
    """Hooks of saved tensors are used where torch does not allow them.

    What torch does
        It raises. `saved_tensors_hooks`, `save_on_cpu` and a checkpoint with `use_reentrant=False` install hooks, which
        a block of `disable_saved_tensors_hooks` rejects, and it cannot be entered inside of one that has installed
        some. A pack hook must not write to its tensor in place. `register_hooks` of a saved tensor takes two functions
        by position, once, before a backward has freed the tensor. Blocks of `allow_mutation_on_saved_tensors` cannot be
        nested, and the backward must run inside of the block in which the forward has run. A saved input must not be
        detached in place before the backward.

    Why it matters
        The block that forbids the hooks, or that keeps copies of what is written, stands in another function than the
        code that relies on it.

    When it may be wrong
        If the line is never executed.

    Instead
        Call `backward` in the block in which the loss is computed. Return a new tensor from a pack hook.

    References
        https://docs.pytorch.org/docs/stable/autograd.html#saved-tensors-default-hooks
        https://docs.pytorch.org/docs/stable/notes/autograd.html#hooks-for-saved-tensors
    """

    code = "GRD235"
    name = "saved-tensor-misused"
    effect = "raises"
    raises = "Trying to backward outside of the"
    torch_says = (
        "Trying to backward outside of",
        "contexts cannot be nested",
        "pack hook is modifying its input",
        "incompatible function arguments",
        "hooks have already been set",
        "register_hooks on a saved tensor after it has been freed",
        "None is forbidden",
        "from Python is forbidden",
        "has been detached in-place",
        "returned as-is as output is being saved",
    )
    bad = """\
import torch

x = torch.ones(3, requires_grad=True)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    y = x * 2
    loss = y.pow(2).sum()
    y.zero_()
loss.backward()  # GRD235
"""
    good = """\
import torch

x = torch.ones(3, requires_grad=True)
with torch.autograd.graph.allow_mutation_on_saved_tensors():
    y = x * 2
    loss = y.pow(2).sum()
    y.zero_()
    loss.backward()
"""
    good_shows = "x.grad.sum() == 24"

    def check(self, event: refusal.SavedTensorMisused) -> Report | None:
        return Report(
            event.node,
            f"{_SAID[event.reason]}: torch raises {_WHEN.get(event.reason, 'here')}",
            hint=_INSTEAD.get(event.reason),
            related=((event.origin, _PLACES[event.reason]),) if event.reason in _PLACES else (),
        )


_SAID: dict[refusal.Misuse, str] = {
    "disabled": "this installs hooks of saved tensors, which `disable_saved_tensors_hooks` has switched off",
    "enabled": "this switches off hooks of saved tensors where some are installed",
    "nested": "`allow_mutation_on_saved_tensors` is entered inside of itself",
    "ended": "this backward runs outside of the block of `allow_mutation_on_saved_tensors` that the loss comes from",
    "writes": "the pack hook writes in place to the tensor that it is given",
    "arguments": "`register_hooks` takes two functions by position",
    "twice": "`register_hooks` is called again for the same saved tensor",
    "released": "`register_hooks` is called for a saved tensor that a backward has freed",
    "none": "`register_hooks` is called for a saved None",
    "detached": "this backward needs a saved tensor that `detach_` has taken out of its graph",
    "returned": "`save_for_backward` is given an input that `forward` returns as it is, beside a `setup_context`",
    "made": "saved tensors cannot be made in Python",
}
_WHEN: dict[refusal.Misuse, str] = {"writes": "when a tensor is saved", "returned": "in `apply`"}
_INSTEAD: dict[refusal.Misuse, str] = {
    "ended": "call `backward` inside of the block",
    "returned": "return a view of the input, `x.view_as(x)`, or a clone",
    "detached": "use `detach()`, which leaves the tensor itself as it is",
    "writes": "return a new tensor from the hook",
    "enabled": "enter the block before the hooks are installed",
}
_PLACES: dict[refusal.Misuse, str] = {
    "ended": "the block is entered here",
    "writes": "the hook is installed here",
    "twice": "the hooks were set here",
    "detached": "the tensor is detached here",
    "released": "this backward freed the tensor",
}
