"""Silent effects: how each is measured on a program with instruments, and by which rules it is claimed."""

from __future__ import annotations

from typing import Literal, NamedTuple

_LEAVES = """\
def leaves_of(value):
    parts = value.parameters() if isinstance(value, torch.nn.Module) else [value]
    return [part for part in parts if isinstance(part, torch.Tensor) and part.requires_grad and part.is_leaf]
"""

_NO_GRADIENT = f"""\
import torch
arrived, leaves, losses = [], [], []
{_LEAVES}
def watched(value):
    for leaf in leaves_of(value):
        leaves.append(leaf)
        leaf.register_hook(lambda gradient: arrived.append(bool(gradient.any())))
    return value
def noted(loss):
    if isinstance(loss, torch.Tensor):
        losses.append(float(loss.detach().sum()))
    return loss
"""

_ARRIVED = """\
arrived = []
def watched(value):
    for leaf in value.parameters() if isinstance(value, torch.nn.Module) else [value]:
        leaf.register_hook(lambda gradient: arrived.append(gradient.any()))
    return value
"""

_HOOK = "        leaves.append(leaf)\n"

_GRADIENTS = """\
import torch
gradients, losses, seen = [], [], []
def noted(loss):
    losses.append(float(loss.detach().sum()) if isinstance(loss, torch.Tensor) else 0.0)
    waiting = [loss.grad_fn] if isinstance(loss, torch.Tensor) else []
    while waiting:
        node = waiting.pop()
        if node is None or any(node is other for other in seen):
            continue
        seen.append(node)
        waiting.extend(following for following, _ in node.next_functions)
        if hasattr(node, 'variable'):
            node.variable.register_hook(lambda gradient: gradients.append(gradient.detach().clone()))
    return loss
"""

_SAVED = "with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.detach().clone(), lambda kept: kept):\n"

_VALUES = """\
values = []
def watched(value):
    values.append(value)
    return value
"""

_GRAPH = """\
import torch
sizes = []
def graph_of(value):
    parts = value if isinstance(value, (list, tuple)) else list(value.values()) if isinstance(value, dict) else [value]
    seen, waiting = [], [part.grad_fn for part in parts if isinstance(part, torch.Tensor)]
    while waiting:
        node = waiting.pop()
        if node is not None and not any(node is other for other in seen):
            seen.append(node)
            waiting.extend(following for following, _ in node.next_functions)
    return len(seen)
"""

_SHOWN_SIZES = f"""\
{_GRAPH}
def end_of_turn(value):
    sizes.append(graph_of(value))
"""

# A graph that is walked behind the loop was collected for that walk.
_SIZES = f"""\
{_GRAPH}
roots, walked = [], []
def end_of_turn(value):
    sizes.append(graph_of(value))
    parts = value if isinstance(value, (list, tuple)) else [value]
    roots.append([part.grad_fn for part in parts if isinstance(part, torch.Tensor)])
def noted(loss):
    waiting, seen = [loss.grad_fn] if isinstance(loss, torch.Tensor) else [], []
    while waiting:
        node = waiting.pop()
        if node is not None and not any(node is other for other in seen):
            seen.append(node)
            waiting.extend(following for following, _ in node.next_functions)
    walked.extend(node for node in seen if roots and any(node is root for root in roots[-1]))
    return loss
def grew():
    for last in range(2, len(sizes)):
        ends = last + 1 == len(sizes) or sizes[last + 1] <= sizes[last]
        wasted = not any(root is node for root in roots[last] for node in walked)
        if sizes[last - 2] < sizes[last - 1] < sizes[last] and ends and wasted:
            return True
    return False
"""


class Variant(NamedTuple):
    """A program around the one with instruments: what stands before it, and whether it stands in a `with`."""

    before: str
    block: str = ""

    def around(self, text: str) -> str:
        """The whole program."""
        inner = "".join(f"    {line}\n" for line in text.splitlines()) if self.block else text
        return self.before + self.block + inner


class Measure(NamedTuple):
    """A silent effect.

    `probes` must be true after the program ran in the first variant; the first of them says whether there was
    anything to measure, and the last may be false, which refutes the effect. If there are more variants, `compared`
    must differ between the first and one of the others. `proof` is the statement that fails by itself, behind the
    program with the instruments of `shown`. With `refutes` a whole program that does not show the effect refutes it.
    `watches` says of what the values are watched.
    """

    said: str
    variants: tuple[Variant, ...]
    probes: tuple[str, ...]
    compared: str | None = None
    shown: str = ""
    proof: str = ""
    watches: Literal["", "leaf", "own", "turns"] = ""
    refutes: bool = True


def _nudged(amount: float) -> Variant:
    """The same leaves with other values: what depends on them changes."""
    return Variant(_NO_GRADIENT.replace(_HOOK, f"{_HOOK}        leaf.data.add_({amount} * torch.rand_like(leaf))\n"))


NO_GRADIENT = Measure(
    "no gradient arrives at the leaf, and the loss changes with it",
    (Variant(_NO_GRADIENT), *(_nudged(amount) for amount in (0.1, -1.0, 10.0))),
    ("len(leaves) > 0 and len(losses) > 0", "not any(arrived)"),
    compared="losses[0]",
    shown=_ARRIVED,
    proof="assert any(arrived), 'no gradient arrives'",
    watches="leaf",
)

WRONG_GRADIENT = Measure(
    "the gradient is not the one of the values that the forward pass saved",
    (Variant(_GRADIENTS), Variant(_GRADIENTS, _SAVED)),
    ("len(gradients) > 0",),
    compared="[round(float((part * torch.arange(1, 1 + part.numel()).reshape(part.shape)).sum()), 4)"
    " for part in gradients]",
)

NAN_GRADIENT = Measure(
    "the loss is finite, and its gradient is not",
    (Variant(_GRADIENTS),),
    (
        "len(gradients) > 0 and all(loss == loss and abs(loss) != float('inf') for loss in losses)",
        "any(bool(gradient.isnan().any()) for gradient in gradients)",
    ),
    shown="torch.autograd.set_detect_anomaly(True)\n",
)

NONE = Measure(
    "`.grad` is None there",
    (Variant(_VALUES),),
    ("len(values) > 0", "all(value is None for value in values)"),
    shown=_VALUES,
    proof="assert values[-1] is not None, 'the gradient is None'",
    watches="own",
)

GROWS = Measure(
    "the graph that is kept grows with each turn",
    (Variant(_SIZES),),
    ("len(sizes) > 2", "grew()"),
    refutes=False,
    shown=_SHOWN_SIZES,
    proof="assert sizes[-1] <= sizes[0], 'the graph grows'",
    watches="turns",
)

MEASURES: dict[str, Measure] = {
    "data-write-to-saved": WRONG_GRADIENT,
    "nonleaf-grad": NONE,
    **dict.fromkeys(
        (
            *("data-in-graph", "rewrapped-tensor", "number-on-loss-path", "numpy-on-loss-path", "requires-grad-hack"),
            *("loss-under-no-grad", "detached-on-loss-path", "nondiff-on-loss-path", "zero-gradient-op"),
            "integer-cast-on-loss-path",
        ),
        NO_GRADIENT,
    ),
    # A sample may be a part of the loss only, and another part reach the same leaf.
    "sample-not-rsample": NO_GRADIENT._replace(refutes=False),
    **dict.fromkeys(("masked-nan", "root-at-zero"), NAN_GRADIENT),
    **dict.fromkeys(("graph-accumulates", "state-not-detached", "eval-keeps-graph"), GROWS),
}
"""By the name of the rule whose findings claim the effect."""
