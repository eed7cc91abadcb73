"""Custom functions of autograd: what they keep, what they write to, and how they are defined."""

from __future__ import annotations

from gradlint.confirm.effects.measure import GRAPH_LEAVES, Measure, Variant, Watch

_METHODS = """\
same = []
def watched(on_class, on_object):
    same.append(on_class is on_object)
"""

# The result of a function is the object that its context kept; an input is written to as the program might do.
_KEPT = f"""\
kept, gradients = [], []
{GRAPH_LEAVES}
def watched(value, ctx, *given):
    kept.append((value, ctx, any(value is one for one in given)))
    return value
def is_end(value, ctx, is_input):
    return isinstance(value, torch.Tensor) and (value.requires_grad or is_input and value.is_floating_point())
def is_circle(value, ctx, is_input):
    return isinstance(value, torch.Tensor) and value.grad_fn is ctx
def noted(loss):
    for leaf in graph_leaves(loss):
        leaf.register_hook(lambda gradient: gradients.append(gradient.tolist()))
    return loss
asked = noted
written = False
"""

_WRITTEN = """\
    for one in kept:
        if is_end(*one) and not is_circle(*one):
            with torch.no_grad():
                one[0].mul_(1.5).add_(0.5)
    return loss
asked = noted
written = True
"""

_SHOWN_KEPT = """\
kept = []
def watched(value, ctx, *given):
    kept.append((value, any(value is one for one in given)))
    return value
"""

_SAVED = """\
saved = []
def watched(value, ctx, *given):
    saved.append((value, ctx, [part for one in given for part in (one if isinstance(one, (list, tuple)) else [one])]))
    return value
def is_between(value, ctx, given):
    return not any(value is part for part in given) and value.grad_fn is not ctx
"""

_ARRIVED = """\
arrived, states = [], []
def watched(value, ctx=None):
    if isinstance(value, torch.Tensor):
        (states if ctx is None else arrived).append((value, ctx, value._version))
    return value
def is_written(one, other):
    same = [ctx for given, ctx, _ in arrived if given.data_ptr() == one[0].data_ptr()]
    return one[0] is other[0] and other[2] > one[2] and len(same) > 0 and one[0].grad_fn not in same
"""

_SHOWN_ARRIVED = """\
versions = []
def watched(value, ctx=None):
    versions.append(value._version)
    return value
"""

NONSTATIC = Measure(
    "on an object the method is another than on the class",
    (Variant(_METHODS),),
    ("len(same) > 0", "not all(same)"),
    proof="assert all(same), 'on an object this is another method'",
    watches=(Watch("static"),),
    early=True,
)

KEPT_ON_CTX = Measure(
    "the context keeps its own result, or a write to what it keeps changes the gradient without an error",
    (Variant(_KEPT), Variant(_KEPT.partition("    return loss\n")[0] + _WRITTEN)),
    ("len(kept) > 0", "any(is_end(*one) for one in kept)"),
    compared="[gradients, written and any(is_circle(*one) for one in kept)]",
    shown=(Variant(_SHOWN_KEPT),),
    proof="assert not any(value.requires_grad or is_input for value, is_input in kept), 'torch does not watch this'",
    watches=(Watch("inside"),),
    refutes=False,
)

BETWEEN = Measure(
    "what is saved is neither an input nor a result, and has no graph",
    (Variant(_SAVED),),
    ("len(saved) > 0", "any(is_between(*one) for one in saved)"),
    proof="assert not any(is_between(*one) for one in saved), 'neither an input nor a result'",
    watches=(Watch("saved"),),
    early=True,
)

WRITES_TO_GRADIENT = Measure(
    "the gradient that arrives is written to",
    (Variant(_ARRIVED),),
    ("len(states) > 1", "any(is_written(*both) for both in zip(states[::2], states[1::2]))"),
    shown=(Variant(_SHOWN_ARRIVED),),
    proof="assert len(set(versions)) == 1, 'others may be given this gradient too'",
    watches=(Watch("arriving"),),
    early=True,
)

WRITES_TO_INPUT = WRITES_TO_GRADIENT._replace(
    said="an input is written to, and is not marked",
    proof="assert len(set(versions)) == 1, 'an input is written to, and is not marked'",
)

RULES = {
    "function-nonstatic": NONSTATIC,
    "tensor-kept-on-ctx": KEPT_ON_CTX,
    "saved-intermediate": BETWEEN,
    "gradient-inplace": WRITES_TO_GRADIENT,
    "mark-dirty-missing": WRITES_TO_INPUT,
}
