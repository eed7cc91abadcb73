"""Around the steps of a training loop: modes, schedulers, samplers, and statements that change nothing."""

from __future__ import annotations

from gradlint.confirm.effects.measure import Measure, Variant, Watch

_MODES = """\
from torch.optim.optimizer import register_optimizer_step_pre_hook
modes, switched = [], []
def watched(module):
    switched.append(module)
    return module
register_optimizer_step_pre_hook(lambda *args: modes.extend(module.training for module in switched))
"""

_SCHEDULED = """\
from torch.optim.optimizer import register_optimizer_step_post_hook
stepped, early = [], []
def watched(scheduler):
    if not isinstance(scheduler, (torch.optim.Optimizer, torch.optim.lr_scheduler.ReduceLROnPlateau)):
        early.append(not any(one is scheduler.optimizer for one in stepped))
    return scheduler
register_optimizer_step_post_hook(lambda optimizer, args, kwargs: stepped.append(optimizer))
"""

_ORDERS = """\
orders = []
def watched(loader):
    orders.append((list(loader.sampler), loader.sampler.shuffle))
    return loader
"""

_REBOUND = """\
rebound = []
def watched(value, owner):
    if isinstance(owner, torch.Tensor) and owner.is_leaf:
        rebound.append((value, owner, owner._version))
    return value
def is_left(value, owner, version):
    return owner._version == version and (value.dtype != owner.dtype or not torch.equal(value, owner))
"""

_SHOWN_REBOUND = """\
rebound = []
def watched(value, owner):
    rebound.append((value, owner))
    return value
"""

_NAMED = """\
named = []
def watched(value):
    named.append(value)
"""

_WRITES = """\
versions = []
def watched(*given):
    versions.append([one._version for one in given if isinstance(one, torch.Tensor)])
"""

# The module whose call has ended last is the one that was called at the place.
_EVALUATED = """\
from torch.nn.modules.module import register_module_forward_hook
latest, seen, walked = [], [], set()
def after_forward(module, given, result):
    changing = [part for part in module.modules() if getattr(part, 'p', 0) or hasattr(part, 'running_mean')]
    latest[:] = [any(part.training for part in changing)]
register_module_forward_hook(after_forward)
def watched(value):
    seen.extend((value.grad_fn, training) for training in latest if isinstance(value, torch.Tensor))
    return value
def noted(loss):
    waiting = [loss.grad_fn]
    while waiting:
        function = waiting.pop()
        if function is not None and function not in walked:
            walked.add(function)
            waiting.extend(edge for edge, _ in function.next_functions)
    return loss
def are_evaluated():
    return [training for function, training in seen if function is None or function not in walked]
"""

_SHOWN_EVALUATED = """\
from torch.nn.modules.module import register_module_forward_hook
latest, modes = [], []
def watched(value):
    modes.extend(latest)
    return value
register_module_forward_hook(lambda module, given, result: latest.append(module.training))
"""

MODE = Measure(
    "a step is made while the network is in evaluation mode",
    (Variant(_MODES),),
    ("len(modes) > 0", "not all(modes)"),
    proof="assert all(modes), 'a step in evaluation mode'",
    watches=(Watch("receiver"),),
    early=True,
)

EVALUATED = Measure(
    "the network is in training mode, and no backward runs through what it computes",
    (Variant(_EVALUATED),),
    ("len(seen) > 0", "any(are_evaluated())"),
    shown=(Variant(_SHOWN_EVALUATED),),
    proof="assert not any(modes), 'this runs in training mode'",
    watches=(Watch("value"),),
    early=True,
)

SCHEDULED = Measure(
    "the scheduler steps, and its optimizer has not yet",
    (Variant(_SCHEDULED),),
    ("len(early) > 0", "any(early)"),
    proof="assert not any(early), 'the optimizer has not stepped yet'",
    watches=(Watch("receiver"),),
    early=True,
)

SAME_ORDER = Measure(
    "the sampler shuffles, and two successive epochs have the same order",
    (Variant(_ORDERS),),
    ("len(orders) > 1", "any(one == other and one[1] for one, other in zip(orders, orders[1:]))"),
    proof="assert orders[-1] != orders[-2], 'this epoch has the order of the one before'",
    watches=(Watch("iterations"),),
    early=True,
)

REBOUND = Measure(
    "the name has another value, and the parameter that it had is as it was",
    (Variant(_REBOUND),),
    ("len(rebound) > 0", "any(is_left(*one) for one in rebound)"),
    shown=(Variant(_SHOWN_REBOUND),),
    proof="assert all(one.dtype == own.dtype and torch.equal(one, own) for one, own in rebound), 'it stays as it was'",
    watches=(Watch("rebound"),),
    refutes=False,
)

NOT_CALLED = Measure(
    "the statement is a method, and nothing calls it",
    (Variant(_NAMED),),
    ("len(named) > 0", "all(callable(value) for value in named)"),
    proof="assert not callable(named[0]), 'this is a method, and nothing calls it'",
    watches=(Watch("bare"),),
    early=True,
)

DISCARDED_RESULT = Measure(
    "the statement leaves the tensors as they are that it names",
    (Variant(_WRITES),),
    ("any(versions)", "versions[0::2] == versions[1::2]"),
    proof="assert versions[0::2] != versions[1::2], 'nothing is written to'",
    watches=(Watch("named"),),
    early=True,
)

RULES = {
    "train-mode-missing": MODE,
    "eval-mode-missing": EVALUATED,
    "scheduler-before-optimizer": SCHEDULED,
    "sampler-set-epoch": SAME_ORDER,
    "loop-variable-rebound": REBOUND,
    "method-not-called": NOT_CALLED,
    "result-discarded": DISCARDED_RESULT,
}
