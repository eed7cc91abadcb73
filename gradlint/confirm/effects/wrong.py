"""Values and gradients that are other than they should be."""

from __future__ import annotations

from gradlint.confirm.effects.measure import GRAPH_LEAVES, VALUES, Measure, Variant, Watch

_GRADIENTS = f"""\
gradients, losses, hooked = [], [], set()
{GRAPH_LEAVES}
def noted(loss):
    losses.append(float(loss.detach().sum()) if isinstance(loss, torch.Tensor) else 0.0)
    for leaf in graph_leaves(loss):
        if id(leaf) not in hooked:
            hooked.add(id(leaf))
            leaf.register_hook(lambda gradient: gradients.append(gradient.detach().clone()))
    return loss
asked = noted
"""

# Saved values are compared where backward asks for them.
_SHOWN_SAVED = """\
def unpack(kept):
    assert torch.equal(*kept), 'the values that were saved have changed'
    return kept[0]
"""

_ROOTS = """\
torch.use_deterministic_algorithms(True, warn_only=True)  # fills new memory with NaN
weights = []
def noted(root):
    if isinstance(root, torch.Tensor) and root.requires_grad:
        root.register_hook(lambda gradient: weights.append(bool(gradient.isnan().any())))
    return root
asked = noted
"""

_WRITES = """\
states = []
def watched(value):
    states.append((id(value), value._version, value.detach().clone()))
    return value
def pairs():
    return [both for both in zip(states[::2], states[1::2]) if not torch.equal(both[0][2], both[1][2])]
def unnoticed():
    return any(one[:2] == other[:2] for one, other in pairs())
"""

_SHOWN_EXTREMES = """\
outside = []
def strained(value):
    return value * 1000.0
def watched(value):
    outside.append(not bool(value.isfinite().all()))
    return value
"""

# The result may be finite, and its gradient not.
_SHOWN_SLOPES = """\
outside, inputs = [], []
def strained(value):
    inputs[:] = [(value * 1000.0).detach().requires_grad_()]
    return inputs[0]
def watched(value):
    slopes = torch.autograd.grad(value.sum(), inputs, retain_graph=True)
    outside.append(not bool(slopes[0].isfinite().all()))
    return value
"""

# Parameters become large for the runs to come; what is a leaf itself becomes so at once.
_EXTREMES = f"""\
strained_by, inputs, outside, grown = 0.0, [], [], set()
{GRAPH_LEAVES}
def strained(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        for leaf in graph_leaves(value):
            if value is not leaf and id(leaf) not in grown:
                grown.add(id(leaf))
                leaf.data.mul_(strained_by)
        if value.grad_fn is None:
            value = value * strained_by
        inputs.append(value)
    return value
def watched(value):
    tracked = [part for part in inputs if part.requires_grad]
    inputs.clear()
    results = [value]
    if value.requires_grad and tracked:
        results.extend(torch.autograd.grad(value.sum(), tracked, retain_graph=True, allow_unused=True))
    outside.append(any(part is not None and not bool(part.isfinite().all()) for part in results))
    return value
"""

_SAVED = "with torch.autograd.graph.saved_tensors_hooks(lambda kept: kept.detach().clone(), lambda kept: kept):\n"

_COMPARED = "with torch.autograd.graph.saved_tensors_hooks(lambda saved: (saved, saved.detach().clone()), unpack):\n"

_GIVEN = """\
given = []
def watched(value):
    given.append((value, value.detach().clone()))
    return value
def is_changed(value, before):
    return not torch.equal(value.detach(), before)
"""

WRONG_GRADIENT = Measure(
    "the gradient is not the one of the values that the forward pass saved",
    (Variant(_GRADIENTS), Variant(_GRADIENTS, _SAVED)),
    ("len(gradients) > 0",),
    compared="[round(float((part * torch.arange(1, 1 + part.numel()).reshape(part.shape)).sum()), 4)"
    " for part in gradients]",
    shown=(Variant(_SHOWN_SAVED, _COMPARED),),
    raises="the values that were saved have changed",
)

NAN_GRADIENT = Measure(
    "the loss is finite, and its gradient is not",
    (Variant(_GRADIENTS),),
    (
        "len(gradients) > 0 and all(loss == loss and abs(loss) != float('inf') for loss in losses[:1])",
        "any(bool(gradient.isnan().any()) for gradient in gradients)",
    ),
    shown=(Variant("torch.autograd.set_detect_anomaly(True)\n"),),
    raises="returned nan values",
    refutes=False,
)

UNINITIALISED = Measure(
    "the gradient argument is memory that nothing has filled",
    (Variant(_ROOTS),),
    ("len(weights) > 0", "any(weights)"),
    proof="assert not any(weights), 'nothing has filled this memory'",
    own_losses=True,
    early=True,
)

UNNOTICED = Measure(
    "the tensor has other values, and its version is the same",
    (Variant(_WRITES),),
    ("len(pairs()) > 0", "unnoticed()"),
    proof="assert not unnoticed(), 'autograd has not noticed the write'",
    watches=(Watch("around"),),
    early=True,
)

_STRAINED = tuple(
    Variant(_EXTREMES.replace("outside, grown = 0.0", f"outside, grown = {factor}"))
    for factor in (0.0, 1.0, 1000.0, -1000.0)
)

OVERFLOWS = Measure(
    "with large inputs the result or its gradient is not finite",
    _STRAINED,
    ("len(outside) > 0", "not any(outside)"),
    compared="any(outside)",
    shown=(Variant(_SHOWN_EXTREMES), Variant(_SHOWN_SLOPES), *_STRAINED[1:]),
    proof="assert not any(outside), 'with large inputs this is not finite'",
    watches=(Watch("exponents"), Watch("value")),
    refutes=False,
    early=True,
)

_IN_RANGE = "all(bool(((value >= 0) & (value <= 1)).all()) for value in values)"

_SUMS = "all(abs(float(value.detach().exp().sum({}).mean()) - 1) < 1e-3 for value in values)"

_LOGARITHMS = " or ".join(_SUMS.format(dim) for dim in (-1, "1 if value.dim() > 1 else 0"))

_GETS = {"probabilities": _IN_RANGE, "log-probabilities": _LOGARITHMS, "scores": f"not ({_LOGARITHMS})"}


def _activation(kind: str) -> Measure:
    return Measure(
        f"the loss is given {kind}",
        (Variant(VALUES),),
        ("len(values) > 0", _GETS[kind]),
        proof=f"assert not ({_GETS[kind]})",
        watches=(Watch("input"),),
        early=True,
    )


BROADCAST = Measure(
    "the result has more elements than either of the two",
    (Variant(VALUES),),
    (
        "len(values) > 1",
        "any(one.dim() != other.dim() and (one.detach() - other.detach()).numel() > max(one.numel(), other.numel())"
        " for one, other in zip(values[::2], values[1::2]))",
    ),
    proof="assert values[0].shape == values[1].shape, 'each element is paired with each'",
    watches=(Watch("pair"),),
    early=True,
)

GETS = {kind: _activation(kind) for kind in _GETS}
"""By what the loss is said to be given."""

SKIPPED = Measure(
    "the tensor has other values after the call than it was given with",
    (Variant(_GIVEN),),
    ("len(given) > 0", "any(is_changed(*one) for one in given)"),
    proof="assert not any(is_changed(*one) for one in given), 'the call has changed what it was given'",
    watches=(Watch("input", at=("block",)),),
    early=True,
    # A write may leave the values of one run as they are.
    refutes=False,
)

RULES = {
    "skip-overwritten": SKIPPED,
    "data-write-to-saved": WRONG_GRADIENT,
    **dict.fromkeys(("masked-nan", "root-at-zero"), NAN_GRADIENT),
    "gradient-uninitialised": UNINITIALISED,
    "data-update": UNNOTICED,
    "unstable-spelling": OVERFLOWS,
    "loss-broadcast": BROADCAST,
    "activation-loss-mismatch": GETS["probabilities"],
}
