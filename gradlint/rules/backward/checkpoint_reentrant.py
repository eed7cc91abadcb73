from __future__ import annotations

from gradlint.domain.refusal import functions as refusal
from gradlint.rules.authoring.repairs import with_argument
from gradlint.rules.base import EventRule, Report


class CheckpointReentrant(EventRule[refusal.CheckpointReentrant | refusal.CheckpointOption]):
    """A checkpoint does not support its arguments, or the backward that runs through it.

    What torch does
        `checkpoint(f, x, use_reentrant=True)` runs the function again in backward, and a nested backward
        through it. It raises a RuntimeError if only some gradients are requested, by `autograd.grad` or
        `backward(inputs=...)`, and if nothing in the function requires grad: "none of output has
        requires_grad=True, this checkpoint() is not necessary". It takes the arguments of the function by
        position only, and neither `context_fn` nor `debug`: a ValueError.

        With `use_reentrant=False`, it raises a CheckpointError if the function, run again, saves fewer tensors than
        before: "A different number of tensors was saved during the original forward and recomputation".

    Why it matters
        Gradient penalties, saliency maps and per-layer gradients use `autograd.grad`, and raise as soon
        as the network is checkpointed to save memory. A function that counts its calls or fills a cache does something
        else when it runs again.

    When it may be wrong
        If the line is never executed.

    Instead
        Pass `use_reentrant=False`, which torch recommends. Compute the same whenever the function runs: fill a cache
        outside of it.

    References
        https://docs.pytorch.org/docs/stable/checkpoint.html
    """

    code = "GRD227"
    name = "checkpoint-reentrant"
    effect = "raises"
    raises = "incompatible with .grad"
    fix = "safe"
    torch_says = (
        "incompatible with .grad",
        "none of output has requires_grad=True",
        "different number of tensors was saved",
        "have different metadata",
        "already unpacked once",
        "Unexpected keyword arguments",
        "only supported when",
        "determinism_check",
        "must not be zero",
        "positional arguments",
    )
    bad = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layer = nn.Linear(3, 3)
x = torch.randn(2, 3, requires_grad=True)
y = checkpoint(layer, x, use_reentrant=True)
(gradient,) = torch.autograd.grad(y.sum(), x)  # GRD227
"""
    good = """\
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

layer = nn.Linear(3, 3)
x = torch.randn(2, 3, requires_grad=True)
y = checkpoint(layer, x, use_reentrant=False)
(gradient,) = torch.autograd.grad(y.sum(), x)
"""
    good_shows = "gradient.shape == (2, 3)"

    def check(self, event: refusal.CheckpointReentrant | refusal.CheckpointOption) -> Report | None:
        """Report a backward through a reentrant checkpoint; the other kind does not help if nothing requires grad."""
        if isinstance(event, refusal.CheckpointOption):
            kind = "a reentrant checkpoint" if event.reentrant else "a checkpoint"
            what = f"does not accept this `{event.name}`" if event.name else "does not accept these arguments"
            return Report(
                event.node,
                f"{kind} {what}: torch raises here",
                hint="pass `use_reentrant=False`" if event.reentrant and event.name else None,
            )
        if event.reason == "different":
            return Report(
                event.node,
                "this backward runs a checkpointed function again, which now saves other tensors: torch raises here",
                hint="let the function compute the same whenever it runs: no counters, no caches",
                related=((event.checkpoint, "the checkpoint is here"),),
            )
        if event.reason == "unpacked":
            return Report(
                event.node,
                "`saved_tensors` is read a second time in a backward below a checkpoint: torch raises here",
                hint="read it once, and keep the tensors in variables",
                related=((event.checkpoint, "the checkpoint is here"),),
            )
        constant = event.reason == "constant"
        what = "computes only some gradients, which a reentrant checkpoint does not support"
        if constant:
            what = "runs through a reentrant checkpoint in which nothing requires grad"
        return Report(
            event.node,
            f"this backward {what}: torch raises here",
            hint=None if constant else "pass `use_reentrant=False` to `checkpoint`",
            related=((event.checkpoint, "the checkpoint is here"),),
            repair=None if constant else with_argument(event.checkpoint, "use_reentrant=False", safe=True),
        )
