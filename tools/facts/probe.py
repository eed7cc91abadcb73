"""Measure one call: run every probe, and turn arguments into the flags on which facts may depend."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import torch

from tools.facts.call import Call, differentiable_labels, run, tensors_in
from tools.facts.probes import Facts, Record, alias, gradient, out, saved, shape
from tools.facts.signature import kind_of

# What torch may raise of a call that it does not support; anything else is a defect of the measurement.
REFUSALS = (
    RuntimeError,
    NotImplementedError,
    ValueError,
    TypeError,
    IndexError,
    AttributeError,
    AssertionError,
)


@dataclass(frozen=True)
class Effort:
    """Which of the costly probes to run on a call."""

    gradient: bool = True
    nonfinite: bool = False
    silent: bool = False
    out: bool = False
    dtype_only: bool = False


def measure(call: Call, defaults: Mapping[str, str], effort: Effort) -> Record:
    """Return the record of the call; one that torch refuses has a failure and no facts."""
    record = Record(call.name, flags_of(call, defaults))
    try:
        plain = run(call)
        if not effort.dtype_only:
            record.facts.update(shape.observe(call, plain))
        record.facts["dtype"] = shape.dtype_rules(call, plain)
        record.facts.update(_presence(call))
        if not effort.dtype_only:
            _autograd(call, record.facts, effort)
    except REFUSALS as error:
        record.failure = f"{type(error).__name__}: {error}"
        record.facts.clear()
    return record


def _presence(call: Call) -> Facts:
    if call.module is None:
        return {}
    spec = call.module
    return {
        "parameters": frozenset(spec.label("p", name)[2:] for name, _ in spec.instance.named_parameters()),
        "buffers": frozenset(spec.label("b", name)[2:] for name, _ in spec.instance.named_buffers()),
    }


def _autograd(call: Call, facts: Facts, effort: Effort) -> None:
    able = differentiable_labels(call)
    refusing = frozenset(label for label in able if _refuses(call, label))
    facts.update({f"raises:{label}": frozenset({label}) & refusing for label in able})
    requiring = frozenset(able) - refusing
    facts.update(alias.observe(call, requiring))
    state = run(call, requiring)
    if able:
        facts["requires_grad"] = frozenset(label for label, t in state.outputs.items() if t.requires_grad)
    elif state.outputs:
        facts["requires_grad_anyway"] = frozenset(label for label, t in state.outputs.items() if t.requires_grad)
    underivable = frozenset(label for label in sorted(requiring) if not _observe_alone(call, label, facts))
    facts.update({f"no_derivative:{label}": frozenset({label}) & underivable for label in requiring})
    if effort.silent and not underivable:
        facts.update(saved.silent(call, requiring))
    if effort.out and requiring and facts["requires_grad"]:
        facts.update(_observe_out(call, requiring))
    if effort.gradient:
        _observe_gradients(call, sorted(requiring - underivable), facts, effort)


def _observe_out(call: Call, requiring: frozenset[str]) -> Facts:
    try:
        return out.observe(call, requiring)
    except REFUSALS:  # Some overloads of the name take no `out=`; the fact is then simply not observed.
        return {}


def _refuses(call: Call, label: str) -> bool:
    try:
        run(call, frozenset({label}))
    except RuntimeError as error:
        if "grad" not in str(error) and "deriv" not in str(error) and "differentiable" not in str(error):
            raise
        return True
    return False


def _observe_alone(call: Call, label: str, facts: Facts) -> bool:
    """Record what the call saves if only `label` requires grad; False if torch has no derivative for it."""
    try:
        found = saved.observe(call, frozenset({label}))
    except saved.UnderivableError:
        return False
    facts.update({f"{kind}:{label}": labels for kind, labels in found.items()})
    return True


def _observe_gradients(call: Call, labels: list[str], facts: Facts, effort: Effort) -> None:
    if not facts.get("requires_grad"):
        return
    zeros = {label: gradient.zero(call, label) for label in labels}
    for label, found in zeros.items():
        facts.update({f"{kind}:{label}": labels_of for kind, labels_of in found.items()})
    for label in labels:
        if effort.nonfinite and label in call.named:
            facts.update(gradient.nonfinite(call, label))


def flags_of(call: Call, defaults: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments as flags; one that is absent counts as its default if that is a plain constant."""
    named: dict[str, object] = dict(call.named)
    flags = dict(defaults)
    if call.module is not None:
        named = {**call.module.constructor, **{f"forward.{k}": v for k, v in call.named.items()}}
        flags["training"] = str(call.module.training)
    flags.update({name: key_of(value) for name, value in named.items()})
    flags.pop("out", None)
    tensors = [t for value in call.named.values() for t in tensors_in(value)]
    flags["@contiguous"] = "yes" if all(t.is_contiguous() for t in tensors) else "no"
    if tensors:
        flags["@first"] = "yes" if tensors[0].is_contiguous() else "no"
        flags["@ranks"] = "r" + "x".join(str(t.ndim) for t in tensors)
        flags["@ndim"] = str(max(t.ndim for t in tensors))
    return flags


def key_of(value: object) -> str:
    """Return the text by which cases tell arguments apart: constants as source, the rest by kind."""
    kind = kind_of(value)
    if kind in {"none", "bool", "int", "number", "str", "dtype"}:
        return str(value) if isinstance(value, torch.dtype) else repr(value)
    return {"tensor": "T", "tensors": "T", "ints": "L"}.get(kind, "O")
