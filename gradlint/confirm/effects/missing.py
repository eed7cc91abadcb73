"""Gradients that do not arrive, or arrive where they should not."""

from __future__ import annotations

from gradlint.confirm.effects.measure import (
    ALL_LEAVES,
    GRAPH_LEAVES,
    LEAVES,
    SHORT_GRAPH_LEAVES,
    Measure,
    Variant,
    Watch,
)

_NO_GRADIENT = f"""\
arrived, leaves, losses = [], [], []
{LEAVES}
def watched(value):
    for leaf in leaves_of(value):
        leaves.append(leaf)
        leaf.register_hook(lambda gradient: arrived.append(bool(gradient.any())))
    return value
def noted(loss):
    if isinstance(loss, torch.Tensor):
        losses.append(float(loss.detach().sum()))
    return loss
asked = noted
"""

_NUDGE_HERE = "        leaves.append(leaf)\n"

_ARRIVED = """\
arrived = []
def watched(value):
    for leaf in value.parameters() if isinstance(value, torch.nn.Module) else [value]:
        leaf.register_hook(lambda gradient: arrived.append(gradient.any()))
    return value
"""

_CONSTANTS = """\
constants, losses = [], []
def watched(value):
    if isinstance(value, (list, tuple)):
        return type(value)([watched(part) for part in value])
    constants.append(not value.requires_grad)
    return value
def noted(loss):
    losses.append(float(loss.detach().sum()))
    return loss
"""

_SHOWN_CONSTANTS = """\
constants = []
def watched(value):
    constants.extend(not part.requires_grad for part in (value if isinstance(value, (list, tuple)) else [value]))
    return value
"""

_EMPTY = """\
filled = []
def watched(value):
    filled.append(value.is_leaf or value.grad is not None)
    return value
"""

_SCALED = f"""\
gradients, hooked = {{}}, set()
{GRAPH_LEAVES}
def noted(loss):
    for leaf in graph_leaves(loss):
        if id(leaf) not in hooked:
            hooked.add(id(leaf))
            leaf.register_hook(lambda gradient, leaf=leaf: gradients.setdefault(id(leaf), gradient.detach().clone()))
    return loss * 1.0
"""

_SHOWN_SCALED = f"""\
gradients = []
{SHORT_GRAPH_LEAVES}
def noted(loss):
    for weight in (1.0, 4.0):
        gradients.append(torch.autograd.grad(loss * weight, graph_leaves(loss), retain_graph=True))
    return loss
"""

_STILL_ARRIVES = f"""\
flagged, arrived = [], []
{ALL_LEAVES}
def graph_leaves(value):
    return [value] if isinstance(value, torch.Tensor) else []
def watched(value, flag):
    for leaf in leaves_of(value):
        if leaf.requires_grad and leaf.is_leaf and not flag:
            flagged.append(leaf)
            leaf.register_hook(lambda gradient: arrived.append(bool(gradient.any())))
    return value
"""

_SHOWN_STILL_ARRIVES = """\
flagged = []
def watched(value, flag):
    flagged.extend(value.parameters() if isinstance(value, torch.nn.Module) else [value])
"""

_SHOWN_FLAGS = """\
flagged = []
def watched(value, flag):
    leaves = value.parameters() if isinstance(value, torch.nn.Module) else [value]
    flagged.extend(leaf.requires_grad == flag for leaf in leaves)
"""

_FLAGS = f"""\
flagged = []
{ALL_LEAVES}
def graph_leaves(value):
    return [value] if isinstance(value, torch.Tensor) else []
def watched(value, flag):
    flagged.extend(leaf.requires_grad == flag for leaf in leaves_of(value))
    return value
"""

_LOST = (Watch("value", at=("leaf",)),)


def _nudged(amount: float, factor: float = 1.0) -> Variant:
    """Return the same leaves with other values: what depends on them changes, and no random number."""
    here = _NUDGE_HERE
    amounts = f"{amount} * torch.arange(1.0, leaf.numel() + 1).mul({2.0 + abs(amount)}).sin().reshape(leaf.shape)"
    return Variant(_NO_GRADIENT.replace(here, f"{here}        leaf.data.mul_({factor}).add_({amounts})\n"))


_NUDGES = ((0.1, 1.0), (-1.0, 1.0), (10.0, 1.0), (0.0, 0.0), (2.0, 0.0), (5.0, 0.0), (7.0, 0.0))
"""What is added to the leaf, and what it is multiplied by before."""

NO_GRADIENT = Measure(
    "no gradient arrives at the leaf, and the loss changes with it",
    (Variant(_NO_GRADIENT), *(_nudged(*nudge) for nudge in _NUDGES)),
    ("len(leaves) > 0 and len(losses) > 0", "not any(arrived)"),
    compared="losses",
    shown=(Variant(_ARRIVED),),
    proof="assert any(arrived), 'no gradient arrives'",
    watches=_LOST,
    # Another part of the loss may reach the same leaf, past the cut.
    refutes=False,
)

CONSTANT = Measure(
    "the values have no graph, and the loss changes with them",
    (
        Variant(_CONSTANTS),
        Variant(_CONSTANTS.replace("    return value\ndef noted", "    return value * 1.5 + 1\ndef noted")),
    ),
    ("len(constants) > 0 and len(losses) > 0", "all(constants)"),
    compared="losses",
    shown=(Variant(_SHOWN_CONSTANTS),),
    proof="assert not all(constants), 'there is no graph'",
    watches=(Watch("value"), Watch("value", at=("term",))),
)

NONE = Measure(
    "the tensor is no leaf, and its `.grad` is None",
    (Variant(_EMPTY),),
    ("len(filled) > 0", "not all(filled)"),
    proof="assert all(filled), 'this is no leaf, and its gradient is None'",
    watches=(Watch("receiver"),),
    early=True,
)

UNWEIGHTED = Measure(
    "a loss of four times the size has the same gradients",
    (Variant(_SCALED), Variant(_SCALED.replace("loss * 1.0", "loss * 4.0"))),
    ("len(gradients) > 0",),
    compared="[gradient.tolist() for gradient in gradients.values()]",
    same=True,
    shown=(Variant(_SHOWN_SCALED),),
    proof="assert not torch.equal(gradients[0][0], gradients[1][0]), 'the loss weighs nothing'",
)

STILL_ARRIVES = Measure(
    "gradients still arrive at what is said to be frozen",
    (Variant(_STILL_ARRIVES),),
    ("len(flagged) > 0", "any(arrived)"),
    shown=(Variant(_SHOWN_STILL_ARRIVES),),
    proof="assert all(leaf.grad is None for leaf in flagged), 'gradients still arrive'",
    watches=(Watch("target"),),
    refutes=False,
    early=True,
)

# What steps over a leaf, and the leaf asks for no gradient any more.
_FROZEN = """\
from torch.optim.optimizer import register_optimizer_step_post_hook
flagged, steps = [], []
def watched(value, flag):
    flagged.extend(value.parameters() if isinstance(value, torch.nn.Module) else [value])
register_optimizer_step_post_hook(lambda optimizer, args, kwargs: steps.append(optimizer))
def is_frozen(leaf):
    held = [own for optimizer in steps for group in optimizer.param_groups for own in group['params']]
    return not leaf.requires_grad and any(leaf is own for own in held)
"""

LEFT_OFF = Measure(
    "the flag is off at the end, and an optimizer of the program trains the leaf",
    (Variant(_FROZEN),),
    ("len(flagged) > 0", "any(is_frozen(leaf) for leaf in flagged)"),
    proof="assert not any(is_frozen(leaf) for leaf in flagged), 'it trains no more'",
    watches=(Watch("target"),),
    early=True,
    refutes=False,
)

FLAGS = Measure(
    "the flag stays as it was",
    (Variant(_FLAGS),),
    ("len(flagged) > 0", "not any(flagged)"),
    shown=(Variant(_SHOWN_FLAGS),),
    proof="assert all(flagged), 'the flag is another'",
    watches=(Watch("target"),),
    early=True,
)

RULES = {
    **dict.fromkeys(
        (
            *("data-in-graph", "rewrapped-tensor", "number-on-loss-path", "numpy-on-loss-path", "requires-grad-hack"),
            *("loss-under-no-grad", "detached-on-loss-path", "nondiff-on-loss-path", "zero-gradient-op"),
            *("integer-cast-on-loss-path", "sample-not-rsample"),
        ),
        NO_GRADIENT,
    ),
    "nonleaf-grad": NONE,
    "grad-without-create-graph": CONSTANT,
    "gradient-ignored": UNWEIGHTED,
    "module-flag": STILL_ARRIVES,
    "set-requires-grad-by-name": FLAGS,
    "grad-mode-left-off": LEFT_OFF,
}
