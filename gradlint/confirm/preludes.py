"""What stands before a program with instruments: how each silent effect is noted while the program runs.

Each text defines the instruments that it listens to. `noted` gets each loss before `backward` walks its graph, `asked`
each value before `torch.autograd.grad` does; `watched` gets what stands at the places of the finding, `strained` what
goes into exponentials there; both and the losses are passed on. `end_of_turn` gets what is kept from turn to turn.
"""

from __future__ import annotations

LEAVES = """\
def leaves_of(value):
    parts = value.parameters() if isinstance(value, torch.nn.Module) else [value]
    return [part for part in parts if isinstance(part, torch.Tensor) and part.requires_grad and part.is_leaf]
"""

# Also what stands in containers, and behind a tensor that is computed.
ALL_LEAVES = """\
def leaves_of(value):
    if isinstance(value, torch.nn.Module):
        return list(value.parameters())
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for part in value for leaf in leaves_of(part)]
    return leaves_behind(value)
"""

LEAVES_BEHIND = """\
def leaves_behind(value):
    if not isinstance(value, torch.Tensor) or value.grad_fn is None:
        return [value] if isinstance(value, torch.Tensor) and value.requires_grad else []
    found, seen, waiting = [], set(), [value.grad_fn]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
            if hasattr(node, 'variable'):
                found.append(node.variable)
    return found
"""

NO_GRADIENT = f"""\
import torch
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

NUDGE_HERE = "        leaves.append(leaf)\n"

ARRIVED = """\
arrived = []
def watched(value):
    for leaf in value.parameters() if isinstance(value, torch.nn.Module) else [value]:
        leaf.register_hook(lambda gradient: arrived.append(gradient.any()))
    return value
"""

GRADIENTS = f"""\
import torch
gradients, losses, hooked = [], [], set()
{LEAVES_BEHIND}
def noted(loss):
    losses.append(float(loss.detach().sum()) if isinstance(loss, torch.Tensor) else 0.0)
    for leaf in leaves_behind(loss):
        if id(leaf) not in hooked:
            hooked.add(id(leaf))
            leaf.register_hook(lambda gradient: gradients.append(gradient.detach().clone()))
    return loss
asked = noted
"""

EMPTY = """\
filled = []
def watched(value):
    filled.append(value.is_leaf or value.grad is not None)
    return value
"""

VALUES = """\
values = []
def watched(value):
    values.append(value)
    return value
"""

GRAPH = """\
import torch
sizes = []
def graph_of(value):
    seen, waiting = set(), [value]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            waiting.extend(node.values())
        elif isinstance(node, (list, tuple)):
            waiting.extend(node)
        elif isinstance(node, torch.Tensor):
            waiting.append(node.grad_fn)
        elif hasattr(node, 'next_functions') and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    return seen
"""

SHOWN_SIZES = """\
sizes = []
def end_of_turn(value, owner):
    seen = set()
    waiting = [part.grad_fn for part in (value if isinstance(value, (list, tuple)) else [value])]
    while waiting:
        node = waiting.pop()
        if node is not None and node not in seen:
            seen.add(node)
            waiting.extend(following for following, _ in node.next_functions)
    sizes.append(len(seen))
"""

# What several objects keep is told apart; a graph that is walked behind the loop was collected for that walk.
SIZES = f"""\
{GRAPH}
kept_graphs, walked = {{}}, set()
def end_of_turn(value, owner):
    graph = graph_of(value)
    sizes.append(len(graph))
    for key in (0, id(owner)):
        kept_graphs.setdefault(key, []).append(graph)
def noted(loss):
    graph = graph_of(loss)
    for graphs in kept_graphs.values():
        walked.update(graph & graphs[-1])
    return loss
asked = noted
def grows_in(graphs):
    for last in range(2, len(graphs)):
        one, two, three = len(graphs[last - 2]), len(graphs[last - 1]), len(graphs[last])
        ends = last + 1 == len(graphs) or len(graphs[last + 1]) <= three
        if one < two < three and ends and not graphs[last] <= walked:
            return True
    return False
def grew():
    return any(grows_in(graphs) for graphs in kept_graphs.values())
"""

STALE = f"""\
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
used, stale = {{}}, []
{LEAVES_BEHIND}
def is_used(leaf):
    gradient, version = used.get(id(leaf), (None, 0))
    return gradient is not None and leaf.grad is gradient and gradient._version == version
def noted(loss):
    stale.extend(leaf for leaf in leaves_behind(loss) if is_used(leaf))
    return loss
def after_step(optimizer, args, kwargs):
    for group in optimizer.param_groups:
        for leaf in group['params']:
            if leaf.grad is not None and leaf.grad.any():
                used[id(leaf)] = leaf.grad, leaf.grad._version
register_optimizer_step_post_hook(after_step)
"""

SHOWN_STALE = """\
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

CLIPPED = """\
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
used, clipped = {}, []
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

SHOWN_CLIPPED = """\
clipped = []
def watched(value):
    parts = [value] if isinstance(value, torch.Tensor) else list(value)
    clipped.append(all(not part.is_leaf or part.grad is None for part in parts))
    return value if isinstance(value, torch.Tensor) else parts
"""

IDLE = f"""\
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
steps, reached = {{}}, set()
{LEAVES_BEHIND}
def noted(loss):
    reached.update(id(leaf) for leaf in leaves_behind(loss))
    return loss
def before_step(optimizer, args, kwargs):
    leaves = [leaf for group in optimizer.param_groups for leaf in group['params']]
    finds = any(leaf.grad is not None and bool(leaf.grad.any()) for leaf in leaves)
    steps.setdefault(id(optimizer), []).append((finds, any(id(leaf) in reached for leaf in leaves)))
register_optimizer_step_pre_hook(before_step)
"""

SHOWN_IDLE = """\
from torch.optim.optimizer import register_optimizer_step_pre_hook
found = []
def before_step(optimizer, args, kwargs):
    leaves = [leaf for group in optimizer.param_groups for leaf in group['params']]
    found.append(any(leaf.grad is not None and bool(leaf.grad.any()) for leaf in leaves))
register_optimizer_step_pre_hook(before_step)
"""

UNTRAINED = f"""\
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
made, arrivals, steps, owned = [], {{}}, [], []
{LEAVES_BEHIND}
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

SHOWN_UNTRAINED = """\
made, kept = [], []
def watched(value):
    made.extend(value.parameters() if isinstance(value, torch.nn.Module) else [value])
    kept.extend(leaf.detach().clone() for leaf in made[len(kept):])
    return value
def untrained():
    return all(torch.equal(leaf, then) for leaf, then in zip(made, kept))
"""

SHOWN_UNREACHED = """\
made = []
def watched(value):
    made.extend(value.parameters() if isinstance(value, torch.nn.Module) else [value])
    return value
def unreached():
    return any(leaf.grad is None for leaf in made)
"""

UNREGISTERED = f"""\
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
owned, trained = [], set()
{LEAVES_BEHIND}
{ALL_LEAVES}
def watched(value, owner):
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

SHOWN_UNREGISTERED = """\
owned = []
def leaves_of(value):
    parts = value.values() if isinstance(value, dict) else value
    if isinstance(value, (dict, list, tuple)):
        return [leaf for part in parts for leaf in leaves_of(part)]
    return list(value.parameters()) if isinstance(value, torch.nn.Module) else [value]
def watched(value, owner):
    owned.append((value, owner))
    return value
def is_outside(value, owner):
    return not any(leaf is own for leaf in leaves_of(value) for own in owner.parameters())
"""

TWINS = """\
import torch
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

STILL_ARRIVES = f"""\
import torch
flagged, arrived = [], []
{ALL_LEAVES}
def leaves_behind(value):
    return [value] if isinstance(value, torch.Tensor) else []
def watched(value, flag):
    for leaf in leaves_of(value):
        if leaf.requires_grad and leaf.is_leaf and not flag:
            flagged.append(leaf)
            leaf.register_hook(lambda gradient: arrived.append(bool(gradient.any())))
    return value
"""

SHOWN_STILL_ARRIVES = """\
flagged = []
def watched(value, flag):
    flagged.extend(value.parameters() if isinstance(value, torch.nn.Module) else [value])
"""

SHOWN_FLAGS = """\
flagged = []
def watched(value, flag):
    leaves = value.parameters() if isinstance(value, torch.nn.Module) else [value]
    flagged.extend(leaf.requires_grad == flag for leaf in leaves)
"""

FLAGS = f"""\
import torch
flagged = []
{ALL_LEAVES}
def leaves_behind(value):
    return [value] if isinstance(value, torch.Tensor) else []
def watched(value, flag):
    flagged.extend(leaf.requires_grad == flag for leaf in leaves_of(value))
    return value
"""

ROOTS = """\
import torch
torch.use_deterministic_algorithms(True, warn_only=True)  # fills new memory with NaN
weights = []
def noted(root):
    if isinstance(root, torch.Tensor) and root.requires_grad:
        root.register_hook(lambda gradient: weights.append(bool(gradient.isnan().any())))
    return root
asked = noted
"""

CONSTANTS = """\
import torch
constants, losses = [], []
def nudged(value):
    if isinstance(value, (list, tuple)):
        return type(value)([nudged(part) for part in value])
    constants.append(not value.requires_grad)
    return value
def watched(value):
    return nudged(value)
def noted(loss):
    losses.append(float(loss.detach().sum()))
    return loss
"""

SCALED = f"""\
import torch
gradients, hooked = {{}}, set()
{LEAVES_BEHIND}
def noted(loss):
    for leaf in leaves_behind(loss):
        if id(leaf) not in hooked:
            hooked.add(id(leaf))
            leaf.register_hook(lambda gradient, leaf=leaf: gradients.setdefault(id(leaf), gradient.detach().clone()))
    return loss * 1.0
"""

SHOWN_SCALED = f"""\
gradients = []
{LEAVES_BEHIND}
def noted(loss):
    for weight in (1.0, 4.0):
        gradients.append(torch.autograd.grad(loss * weight, leaves_behind(loss), retain_graph=True))
    return loss
"""

# Saved values are compared where backward asks for them.
SHOWN_SAVED = """\
def unpack(kept):
    assert torch.equal(*kept), 'the values that were saved have changed'
    return kept[0]
"""

MODES = """\
import torch
from torch.optim.optimizer import register_optimizer_step_pre_hook
modes, switched = [], []
def watched(module):
    switched.append(module)
    return module
register_optimizer_step_pre_hook(lambda *args: modes.extend(module.training for module in switched))
"""

DROPS = """\
import torch
dropped = []
def watched(value, owner, given=None):
    if not owner.training and given is not None:
        dropped.append(bool(((value == 0) & (given != 0)).any()))
    return value
"""

WRITES = """\
import torch
states = []
def watched(value):
    states.append((id(value), value._version, value.detach().clone()))
    return value
def unnoticed():
    pairs = [(states[index], states[index + 1]) for index in range(0, len(states) - 1, 2)]
    return any(one[:2] == other[:2] and not torch.equal(one[2], other[2]) for one, other in pairs)
"""

SHOWN_EXTREMES = """\
outside = []
def strained(value):
    return value * 1000.0
def watched(value):
    outside.append(not bool(value.isfinite().all()))
    return value
"""

# Parameters become large for the runs to come; what is a leaf itself becomes so at once.
EXTREMES = f"""\
import torch
strained_by, inputs, outside, grown = 0.0, [], [], set()
{LEAVES_BEHIND}
def strained(value):
    if isinstance(value, torch.Tensor) and value.is_floating_point():
        for leaf in leaves_behind(value):
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

KEPT = """\
import torch
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
