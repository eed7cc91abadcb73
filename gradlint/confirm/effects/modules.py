"""Modules: what they count as their own, and what they do by mode."""

from __future__ import annotations

from gradlint.confirm.effects.measure import ALL_LEAVES, GRAPH_LEAVES, Measure, Variant, Watch

_UNREGISTERED = f"""\
from torch.optim.optimizer import register_optimizer_step_post_hook
owned, trained = [], set()
{GRAPH_LEAVES}
{ALL_LEAVES}
def watched(value, owner, *given):
    owned.append((value, owner))
    return value
def after_step(optimizer, args, kwargs):
    trained.update(id(leaf) for group in optimizer.param_groups for leaf in group['params'])
register_optimizer_step_post_hook(after_step)
def is_outside(value, owner):
    inside = {{id(leaf) for leaf in owner.parameters()}} | trained
    leaves = leaves_of(value)
    return len(leaves) > 0 and not any(id(leaf) in inside for leaf in leaves)
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

_KEPT = """\
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
    ("any(len(leaves_of(value)) > 0 for value, _ in owned)", "any(is_outside(*both) for both in owned)"),
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
)

KEPT_CHANGES = Measure(
    "what is loaded are the values that the module has",
    (Variant(_KEPT),),
    ("any(state is not None for _, state in loads)", "any(is_itself(*both) for both in loads)"),
    proof="assert not any(is_itself(*both) for both in loads), 'these are the values that it has'",
    watches=(Watch("value"), Watch("receiver", at=("loaded",)), Watch("input", at=("loaded",))),
    early=True,
)

RULES = {
    **dict.fromkeys(("module-in-container", "parameter-moved", "tensor-not-parameter"), UNREGISTERED),
    "module-built-in-forward": UNREGISTERED,
    "network-alias": TWINS,
    "functional-dropout-always-on": DROPS,
    "state-dict-alias": KEPT_CHANGES,
}
