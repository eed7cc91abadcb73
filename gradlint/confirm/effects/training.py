"""The steps of a training loop: what optimizers find, and what they leave as it was."""

from __future__ import annotations

from gradlint.confirm.effects.measure import ALL_LEAVES, GRAPH_LEAVES, SHORT_GRAPH_LEAVES, Measure, Variant, Watch

# Where the program steps by hand, a leaf that has another value since the last backward is one that has been stepped.
_STALE = f"""\
from torch.optim.optimizer import register_optimizer_step_post_hook
used, stale, walked = {{}}, [], {{}}
{GRAPH_LEAVES}
def is_used(leaf):
    gradient, version = used.get(id(leaf), (None, 0))
    by_step = gradient is not None and leaf.grad is gradient and gradient._version == version
    by_hand = not used and leaf._version > walked.get(id(leaf), (leaf, leaf._version))[1] and leaf.grad.any()
    return leaf.grad is not None and (by_step or by_hand)
def noted(loss):
    leaves = graph_leaves(loss)
    stale.extend(leaf for leaf in leaves if is_used(leaf))
    walked.update((id(leaf), (leaf, leaf._version)) for leaf in leaves)
    return loss
def after_step(optimizer, args, kwargs):
    for group in optimizer.param_groups:
        for leaf in group['params']:
            if leaf.grad is not None and leaf.grad.any():
                used[id(leaf)] = leaf.grad, leaf.grad._version
register_optimizer_step_post_hook(after_step)
"""

_SHOWN_STALE = """\
from torch.optim.optimizer import register_optimizer_step_post_hook
used, stale = [], []
def noted(loss):
    stale.extend(leaf for leaf, gradient, version in used if leaf.grad is gradient and gradient._version == version)
    return loss
def after_step(optimizer, args, kwargs):
    leaves = [leaf for group in optimizer.param_groups for leaf in group['params'] if leaf.grad is not None]
    used[:] = [(leaf, leaf.grad, leaf.grad._version) for leaf in leaves]
register_optimizer_step_post_hook(after_step)
"""

_SHOWN_STEPPED = f"""\
versions, stale = {{}}, []
{SHORT_GRAPH_LEAVES}
def noted(loss):
    for leaf in graph_leaves(loss):
        if leaf._version > versions.get(leaf, leaf._version) and leaf.grad.any():
            stale.append(leaf)
        versions[leaf] = leaf._version
    return loss
"""

_CLIPPED = """\
from torch.optim.optimizer import register_optimizer_step_post_hook
used, clipped, walked = {}, [], []
def noted(loss):
    walked.append(loss.grad_fn)
    return loss
asked = noted
def is_empty(part):
    if not part.is_leaf or part.grad is None or not part.grad.any():
        return True
    gradient, version = used.get(id(part), (None, 0))
    return part.grad is gradient and gradient._version == version
def watched(value):
    parts = [value] if isinstance(value, torch.Tensor) else list(value)
    clipped.append(all(is_empty(part) for part in parts))
    return value if isinstance(value, torch.Tensor) else parts
def after_step(optimizer, args, kwargs):
    leaves = [leaf for group in optimizer.param_groups for leaf in group['params'] if leaf.grad is not None]
    used.update({id(leaf): (leaf.grad, leaf.grad._version) for leaf in leaves})
register_optimizer_step_post_hook(after_step)
"""

_SHOWN_CLIPPED = """\
clipped, walked = [], []
def noted(loss):
    walked.append(loss.grad_fn)
    return loss
def watched(value):
    parts = [value] if isinstance(value, torch.Tensor) else list(value)
    clipped.append(all(not part.is_leaf or part.grad is None for part in parts))
    return value if isinstance(value, torch.Tensor) else parts
"""

_IDLE = f"""\
from torch.optim.optimizer import register_optimizer_step_pre_hook
steps, reached = {{}}, set()
{GRAPH_LEAVES}
def noted(loss):
    reached.update(id(leaf) for leaf in graph_leaves(loss))
    return loss
def before_step(optimizer, args, kwargs):
    leaves = [leaf for group in optimizer.param_groups for leaf in group['params']]
    finds = any(leaf.grad is not None and bool(leaf.grad.any()) for leaf in leaves)
    steps.setdefault(id(optimizer), []).append((finds, any(id(leaf) in reached for leaf in leaves)))
register_optimizer_step_pre_hook(before_step)
"""

_SHOWN_IDLE = """\
from torch.optim.optimizer import register_optimizer_step_pre_hook
found = []
def before_step(optimizer, args, kwargs):
    leaves = [leaf for group in optimizer.param_groups for leaf in group['params']]
    found.append(any(leaf.grad is not None and bool(leaf.grad.any()) for leaf in leaves))
register_optimizer_step_pre_hook(before_step)
"""

_DISCARDED = f"""\
from torch.optim.optimizer import register_optimizer_step_pre_hook
filled, discarded = {{}}, []
{GRAPH_LEAVES}
def noted(loss):
    unwritten = [leaf for leaf, version in filled.values() if leaf._version == version]
    discarded.extend(leaf for leaf in unwritten if leaf.grad is None or not leaf.grad.any())
    filled.update((id(leaf), (leaf, leaf._version)) for leaf in graph_leaves(loss))
    return loss
register_optimizer_step_pre_hook(lambda *args: filled.clear())
"""

_UNTRAINED = f"""\
from torch.optim.optimizer import register_optimizer_step_post_hook
made, arrivals, steps, owned = [], {{}}, [], []
{GRAPH_LEAVES}
{ALL_LEAVES}
def watched(value):
    made.append(value)
    for leaf in leaves_of(value):
        if leaf.requires_grad:
            leaf.register_hook(lambda gradient, leaf=leaf: arrive(leaf, gradient))
    if isinstance(value, torch.optim.Optimizer):
        owned.extend(group['params'] for group in value.param_groups)
    return value
def arrive(leaf, gradient):
    if gradient.any():
        arrivals.setdefault(id(leaf), (leaf.detach().clone(), len(steps)))
register_optimizer_step_post_hook(lambda optimizer, args, kwargs: steps.append(optimizer))
def stays(leaf):
    then, step = arrivals.get(id(leaf), (None, len(steps)))
    return step < len(steps) and torch.equal(then, leaf.detach())
def untrained():
    groups = [[leaf for leaf in leaves_of(value) if id(leaf) in arrivals] for value in made]
    return any(all(stays(leaf) for leaf in group) for group in groups if group) or any(not group for group in owned)
def unreached():
    held = {{id(leaf) for optimizer in steps for group in optimizer.param_groups for leaf in group['params']}}
    leaves = [leaf for value in made for leaf in leaves_of(value) if leaf.requires_grad]
    return any(id(leaf) in held and id(leaf) not in arrivals for leaf in leaves)
"""

_SHOWN_UNTRAINED = """\
made, kept = [], []
def watched(value):
    made.extend(value.parameters() if isinstance(value, torch.nn.Module) else [value])
    kept.extend(leaf.detach().clone() for leaf in made[len(kept):])
    return value
def untrained():
    return all(torch.equal(leaf, then) for leaf, then in zip(made, kept))
"""

_SHOWN_EMPTY = """\
sizes = []
def watched(value):
    sizes.extend(len(group['params']) for group in value.param_groups)
    return value
def untrained():
    return 0 in sizes
"""

# Where no backward runs no leaf is reached: some other one is.
_UNREACHED = f"""\
{_UNTRAINED}
others = []
def noted(loss):
    others.extend(graph_leaves(loss))
    return loss
asked = noted
"""

_SHOWN_UNREACHED = """\
made, walked = [], []
def watched(value):
    made.extend(value.parameters() if isinstance(value, torch.nn.Module) else [value])
    return value
def noted(loss):
    walked.append(loss.grad_fn)
    return loss
def unreached():
    return any(walked) and any(leaf.grad is None for leaf in made)
"""

_CONSTANTS = """\
from torch.optim.optimizer import register_optimizer_step_post_hook
made, steps = [], []
def watched(optimizer):
    made.append(optimizer)
    return optimizer
register_optimizer_step_post_hook(lambda optimizer, args, kwargs: steps.append(optimizer))
def is_trained(leaf):
    return leaf.requires_grad or leaf.grad is not None
def constant():
    held = [[leaf for group in one.param_groups for leaf in group['params']] for one in steps if one in made]
    return any(not any(map(is_trained, leaves)) for leaves in held)
"""

# The norms of gradients: when clipping is over, and when the optimizer takes them.
_NORMS = """\
from torch.optim.optimizer import register_optimizer_step_pre_hook
clipped, norms, smaller = [], [], []
def norm_of(leaves):
    return float(sum(leaf.grad.norm() ** 2 for leaf in leaves if leaf.grad is not None)) ** 0.5
def watched(value):
    if not clipped:
        clipped.append([value] if isinstance(value, torch.Tensor) else list(value))
        return clipped[0]
    norms.append(norm_of(clipped.pop()))
    return value
def before_step(optimizer, args, kwargs):
    leaves = [leaf for group in optimizer.param_groups for leaf in group['params']]
    smaller.extend(norm_of(leaves) < 0.5 * norm for norm in norms)
    norms.clear()
register_optimizer_step_pre_hook(before_step)
"""

_OWN = (Watch("value"),)

_SHOWN_NORMS = """\
clipped, then = [], []
def watched(value):
    if isinstance(value, torch.Tensor):
        then[:] = [leaf.grad.clone() for leaf in clipped]
        return value
    clipped[:] = list(value)
    return clipped
"""

STALE = Measure(
    "a backward adds to gradients that a step has used",
    (Variant(_STALE),),
    ("len(used) + len(walked) > 0", "len(stale) > 0"),
    shown=(Variant(_SHOWN_STALE), Variant(_SHOWN_STEPPED), Variant(_STALE)),
    proof="assert not stale, 'these gradients have been used by a step already'",
    own_losses=True,
    early=True,
)

CLIPPED = Measure(
    "what is clipped has no gradients, or gradients that a step has used",
    (Variant(_CLIPPED),),
    ("len(clipped) > 0 and any(walked)", "all(clipped)"),
    shown=(Variant(_SHOWN_CLIPPED), Variant(_CLIPPED)),
    proof="assert not (any(walked) and all(clipped)), 'there is nothing to clip'",
    watches=(Watch("input"),),
)

IDLE = Measure(
    "gradients arrive, and no step of the optimizer finds any",
    (Variant(_IDLE),),
    (
        "any(any(comes for _, comes in own) for own in steps.values())",
        "any(any(comes for _, comes in own) and not any(finds for finds, _ in own) for own in steps.values())",
    ),
    shown=(Variant(_SHOWN_IDLE),),
    proof="assert any(found), 'no step finds a gradient'",
)

DISCARDED = Measure(
    "gradients arrive, and are gone before the next backward, and no step was made between",
    (Variant(_DISCARDED),),
    ("len(filled) > 0 or len(discarded) > 0", "len(discarded) > 0"),
    proof="assert not discarded, 'no step has used these gradients'",
    refutes=False,
)

WITHOUT_GRADIENTS = Measure(
    "an optimizer steps, and never finds a gradient",
    (Variant(_SHOWN_IDLE),),
    ("len(found) > 0", "not any(found)"),
    proof="assert any(found), 'no step finds a gradient'",
)

UNTRAINED = Measure(
    "gradients arrive at the parameters, and the steps leave them as they were",
    (Variant(_UNTRAINED),),
    ("len(steps) > 0 and len(arrivals) > 0 or any(not group for group in owned)", "untrained()"),
    shown=(Variant(_SHOWN_UNTRAINED), Variant(_SHOWN_EMPTY), Variant(_UNTRAINED)),
    proof="assert not untrained(), 'what gets gradients is not trained'",
    watches=(Watch("value", at=("made",)), Watch("value", alone=True)),
)

UNREACHED = Measure(
    "an optimizer steps over the parameters, and no gradient arrives at them",
    (Variant(_UNREACHED),),
    ("len(made) > 0 and len(steps) > 0 and len(others) > 0", "unreached()"),
    shown=(Variant(_SHOWN_UNREACHED), Variant(_UNREACHED)),
    proof="assert not unreached(), 'no gradient arrives'",
    watches=_OWN,
)

CONSTANT = Measure(
    "an optimizer steps, and none of its tensors requires grad or has a gradient",
    (Variant(_CONSTANTS),),
    ("len(made) > 0 and len(steps) > 0", "constant()"),
    proof="assert not constant(), 'no tensor requires grad'",
    watches=_OWN,
)

STILL_SCALED = Measure(
    "what is clipped shrinks once more before the step",
    (Variant(_NORMS),),
    ("len(smaller) > 0", "any(smaller)"),
    shown=(Variant(_SHOWN_NORMS),),
    proof="assert all(torch.equal(leaf.grad, was) for leaf, was in zip(clipped, then)), 'it was still scaled'",
    watches=(Watch("input"), Watch("value")),
)

FAULTS = {"ClippedScaled": STILL_SCALED}
"""By the fault, where it asks for another measure than its rule."""

RULES = {
    "zero-grad-missing": STALE,
    **dict.fromkeys(("zero-grad-misplaced", "step-before-backward"), IDLE),
    **dict.fromkeys(("accumulation-cleared", "step-missing"), DISCARDED),
    "backward-missing": WITHOUT_GRADIENTS,
    "clip-misplaced": CLIPPED,
    "optimizer-misses-parameter": UNTRAINED,
    "parameter-never-reached": UNREACHED,
    "constants-in-optimizer": CONSTANT,
}
