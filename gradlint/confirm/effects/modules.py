"""Modules and custom functions: what they count as their own, what they do by mode, what they keep and write to."""

from __future__ import annotations

from gradlint.confirm.effects.measure import ALL_LEAVES, GRAPH_LEAVES, Measure, Variant, Watch

# Without an owner of its own, as in a helper, a value may belong to each module whose `forward` has ended.
_UNREGISTERED = f"""\
from torch.nn.modules.module import register_module_forward_hook
from torch.optim.optimizer import register_optimizer_step_post_hook
owned, trained, called = [], set(), []
register_module_forward_hook(lambda module, given, result: called.append(module))
{GRAPH_LEAVES}
{ALL_LEAVES}
def watched(value, owner, *given):
    owned.append((value, owner))
    return value
def after_step(optimizer, args, kwargs):
    trained.update(id(leaf) for group in optimizer.param_groups for leaf in group['params'])
register_optimizer_step_post_hook(after_step)
def owners(value, owner):
    parts = list(value.modules()) if isinstance(value, torch.nn.Module) else []
    return [one for one in called if not any(one is part for part in parts)] if owner is None else [owner]
def is_outside(value, owner):
    leaves, found = leaves_of(value), owners(value, owner)
    inside = {{id(leaf) for one in found for leaf in one.parameters()}} | trained
    return len(leaves) * len(found) > 0 and not any(id(leaf) in inside for leaf in leaves)
"""

_SHOWN_UNREGISTERED = """\
owned = []
def leaves_of(value):
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, (dict, list, tuple)):
        return [leaf for part in parts for leaf in leaves_of(part)]
    return list(value.parameters()) if isinstance(value, torch.nn.Module) else [value]
def watched(value, owner, *given):
    owned.append((value, owner))
    return value
def is_outside(value, owner):
    return not any(leaf is own for leaf in leaves_of(value) for own in owner.parameters())
"""

_TWINS = """\
seen = []
def watched(value):
    if isinstance(value, (list, tuple)):
        seen.extend(value[:2])
    else:
        seen.append(value)
    return value
def twins():
    return any(one is other for one, other in zip(seen[::2], seen[1::2]))
"""

_DROPS = """\
torch.manual_seed(0)
dropped = []
def watched(value, owner, given=None):
    if not owner.training and given is not None:
        dropped.append(bool(((value == 0) & (given != 0)).any()))
    return value
"""

_LOADED = """\
kept, loads = [], []
def watched(value):
    if isinstance(value, torch.nn.Module):
        loads.append((value, None))
    elif loads and loads[-1][1] is None and any(value is other for other in kept):
        loads[-1] = loads[-1][0], value
    else:
        kept.append(value)
    return value
def is_itself(module, state):
    own = module.state_dict()
    return state is not None and all(own[name].data_ptr() == part.data_ptr() for name, part in state.items())
"""

UNREGISTERED = Measure(
    "the module does not count it among its parameters, and no optimizer has it",
    (Variant(_UNREGISTERED),),
    (
        "any(len(leaves_of(value)) * len(owners(value, owner)) > 0 for value, owner in owned)",
        "any(is_outside(*both) for both in owned)",
    ),
    shown=(Variant(_SHOWN_UNREGISTERED), Variant(_UNREGISTERED)),
    proof="assert not is_outside(*owned[0]), 'these are no parameters of the module'",
    watches=(Watch("inside"),),
    early=True,
)

TWINS = Measure(
    "both names are of one network",
    (Variant(_TWINS),),
    ("len(seen) > 1", "twins()"),
    proof="assert not twins(), 'one network has both names'",
    watches=(Watch("networks", at=("apart",)), Watch("value", alone=True)),
    early=True,
)

DROPS = Measure(
    "values are dropped while the network is in evaluation mode",
    (Variant(_DROPS),),
    ("len(dropped) > 0", "any(dropped)"),
    proof="assert not any(dropped), 'this drops in evaluation mode'",
    watches=(Watch("within"),),
    early=True,
    # By chance nothing may be dropped.
    refutes=False,
)

KEPT_CHANGES = Measure(
    "what is loaded are the values that the module has",
    (Variant(_LOADED),),
    ("any(state is not None for _, state in loads)", "any(is_itself(*both) for both in loads)"),
    proof="assert not any(is_itself(*both) for both in loads), 'these are the values that it has'",
    watches=(Watch("value"), Watch("receiver", at=("loaded",)), Watch("input", at=("loaded",))),
    early=True,
)

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
    versions.extend([value._version] if isinstance(value, torch.Tensor) else [])
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
    **dict.fromkeys(("module-in-container", "parameter-moved", "tensor-not-parameter"), UNREGISTERED),
    "module-built-in-forward": UNREGISTERED,
    "network-alias": TWINS,
    "functional-dropout-always-on": DROPS,
    "state-dict-alias": KEPT_CHANGES,
    "function-nonstatic": NONSTATIC,
    "tensor-kept-on-ctx": KEPT_ON_CTX,
    "saved-intermediate": BETWEEN,
    "gradient-inplace": WRITES_TO_GRADIENT,
    "mark-dirty-missing": WRITES_TO_INPUT,
}
