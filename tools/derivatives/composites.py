"""The derivatives of operations of several nodes, written by hand and executed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import SimpleNamespace

import torch

from gradlint.facts import load
from gradlint.facts.row import NO_CONSTANT
from tools.derivatives import by_hand, formulas
from tools.derivatives.helpers import SkippedError, names_for
from tools.facts.call import Call, run
from tools.facts.probe import REFUSALS

NO_SCHEMA = SimpleNamespace(returns=())


def executed(calls: Mapping[str, list[Call]]) -> dict[str, dict[str, str]]:
    """Return by operation and argument what is shown, where the formula gives what autograd gives."""
    found: dict[str, dict[str, str]] = {}
    for name, arguments in by_hand.COMPOSITES.items():
        for argument, (text, code, condition, test) in arguments.items():
            if not agrees(name, argument, code, test, calls[name]):
                raise AssertionError(f"{name}: the formula for {argument} does not hold")
            found.setdefault(name, {})[argument] = f"{text}  ({condition})" if condition else text
    return found


def agrees(name: str, argument: str, code: str, test: str, calls: Iterable[Call]) -> bool:
    """Return whether a formula is right for every call that it speaks of, of which there must be one."""
    outcomes = [one for call in calls if (one := _agrees(name, argument, code, test, call)) is not None]
    return bool(outcomes) and all(outcomes)


def _agrees(name: str, argument: str, code: str, test: str, call: Call) -> bool | None:
    doubled = call.with_tensors(lambda t: t.double() if t.is_floating_point() else t)
    try:
        state = run(doubled, frozenset({argument}))
    except REFUSALS:
        return None
    outputs = list(state.outputs.values())
    if argument not in state.leaves or not outputs[0].requires_grad:
        return None
    torch.manual_seed(0)
    grads = [torch.randn_like(one) for one in outputs]
    gotten = torch.autograd.grad(outputs, state.leaves[argument], grads)
    entry = load().find(name)
    assert entry is not None
    defaults = {p.name: p.constant for o in entry.sig.overloads for p in o if p.constant is not NO_CONSTANT}
    given = {label: found[0].detach() for label, found in state.before.items() if len(found) == 1}
    names = names_for({**defaults, **doubled.named, **given}, NO_SCHEMA, [one.detach() for one in outputs], grads)
    try:
        if test and not eval(test, names):
            return None
        return formulas.same(eval(code, names), gotten)
    except SkippedError:
        return None
