"""The units of work: one operation, one module, or one group of recipes, each measured in its own process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import torch
from torch.overrides import TorchFunctionMode

from tools.facts import module_recipes, recipes, samples
from tools.facts.call import Call, ModuleSpec, run
from tools.facts.names import attribute, spellings_of, variants_of
from tools.facts.probe import REFUSALS, Effort, measure
from tools.facts.probes import Record
from tools.facts.recipe_inputs import Recipe
from tools.facts.signature import NO_DEFAULT, UNKNOWN_DEFAULT, overloads_of


class Limits(NamedTuple):
    """How many calls to measure of an operation, its variants, its in-place forms, and by each probe."""

    primary: int = 40
    variant: int = 12
    inplace: int = 24
    module: int = 150
    dtype: int = 6
    nonfinite: int = 6
    gradient: int = 14
    silent: int = 5
    out: int = 4


FULL = Limits()
GLANCE = Limits(primary=8, variant=2, inplace=4, module=8, dtype=2, nonfinite=0, gradient=0, silent=1, out=1)
MANY_PARAMETERS = 6

# The most used operations get more samples, so that rare arguments do not decide alone.
MORE_FOR = frozenset([
    "add", "mul", "sub", "div", "matmul", "sum", "mean", "max", "min", "clamp", "where", "norm", "std",
    "var", "pow", "softmax", "cat", "stack", "transpose", "index_select", "gather", "masked_fill",
    "scatter", "nn.functional.cross_entropy", "nn.functional.conv2d", "nn.functional.linear", "bmm",
    "einsum", "nn.functional.dropout", "nn.functional.max_pool2d", "nn.functional.batch_norm", "reshape",
    "view", "split", "__getitem__",
])  # fmt: skip


@dataclass
class Measured:
    """What one unit brought: the records of each name, and for variants the name whose calls they repeat."""

    unit: str
    records: dict[str, list[Record]] = field(default_factory=dict)
    primary: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    origin: str = "op"


def all_units(limits: Limits = FULL) -> dict[str, Callable[[], Measured]]:
    """Return every unit by name; op_db lists some operations several times, with different samples."""
    # Loaded late: it takes longer than torch itself, and most of this module does without.
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.testing._internal.common_modules import module_db

    ops: dict[str, list[Any]] = {}
    for op in op_db:
        ops.setdefault(op.name, []).append(op)
    units: dict[str, Callable[[], Measured]] = {}
    for name, infos in ops.items():
        units[name] = partial(measure_op, name, infos, limits)
    for info in module_db:
        name = f"nn.{info.module_cls.__name__}"
        units[name] = partial(measure_module, name, info, limits)
    for name in module_recipes.modules():
        units.setdefault(name, partial(measure_module, name, None, limits))
    for name, group in recipes.groups().items():
        units[f"recipe {name}"] = partial(measure_recipes, name, group)
    return units


def defaults_of(name: str) -> dict[str, str]:
    """Return what an absent argument counts as: its constant default, or `-`."""
    found: dict[str, str] = {}
    for overload in overloads_of(name, attribute(name)):
        for parameter in overload:
            plain = parameter.default not in (NO_DEFAULT, UNKNOWN_DEFAULT)
            if found.get(parameter.name, "-") == "-":
                found[parameter.name] = parameter.default if plain else "-"
    return found


def measure_op(name: str, infos: Sequence[Any], limits: Limits = FULL) -> Measured:
    """Measure the operation under each name that its samples call, then its variants on the same calls."""
    done = Measured(name)
    by_name: dict[str, list[Call]] = {}
    for info in infos:
        for spelling, args, kwargs in samples.of_op(info):
            call = samples.named_call(spelling, args, kwargs)
            if call is None:
                done.notes.append(f"{spelling}: no overload takes the sample")
                continue
            by_name.setdefault(spelling, []).append(call)
    for spelling, calls in by_name.items():
        limit = limits.primary * 2 if spelling in MORE_FOR else limits.primary
        chosen = samples.diverse(calls, limit)
        chosen += list(samples.varied(chosen, overloads_of(spelling, attribute(spelling))))
        _measure_calls(done, spelling, chosen, limits)
        _measure_dtypes(done, spelling, infos, limits)
        _measure_variants(done, spelling, chosen, infos, limits)
    return done


def _measure_calls(done: Measured, name: str, calls: Iterable[Call], limits: Limits) -> None:
    defaults = defaults_of(name)
    takes_out = not name.startswith("Tensor.") and "out" in defaults
    for i, call in enumerate(calls):
        effort = Effort(
            i < limits.gradient,
            i < limits.nonfinite,
            silent=i < limits.silent,
            out=takes_out and i < limits.out,
        )
        done.records.setdefault(name, []).append(measure(call, defaults, effort))


def _measure_dtypes(done: Measured, name: str, infos: Sequence[Any], limits: Limits) -> None:
    """Integer and double samples tell the rule of the result's dtype, and nothing else is asked of them."""
    defaults = defaults_of(name)
    for dtype in (torch.int64, torch.float64):
        found = [c for info in infos for c in _calls_of_dtype(info, dtype, name)]
        for call in samples.diverse(found, limits.dtype):
            done.records.setdefault(name, []).append(measure(call, defaults, Effort(dtype_only=True)))


def _calls_of_dtype(info: Any, dtype: torch.dtype, name: str) -> Iterator[Call]:
    for spelling, args, kwargs in samples.of_op(info, dtype):
        call = samples.named_call(name, args, kwargs) if spelling == name else None
        if call is not None:
            yield call


def _measure_variants(done: Measured, name: str, calls: Sequence[Call], infos: Sequence[Any], limits: Limits) -> None:
    aliases = [alias.name for info in infos for alias in info.aliases]
    others = [other for alias in aliases for other in (alias, *variants_of(alias))]
    same = spellings_of(attribute(name))
    for variant in dict.fromkeys([*same, *variants_of(name), *others]):
        if variant in done.records or attribute(variant) is None:
            continue
        if variant in same:
            done.primary[variant] = name
            continue
        inplace = (variant.endswith("_") and not variant.endswith("__")) or variant.startswith("Tensor.__i")
        repeated = [samples.named_call(variant, c.args, c.kwargs) for c in calls]
        usable = [c for c in repeated if c is not None][: limits.inplace if inplace else limits.variant]
        _measure_calls(done, variant, usable, limits)
        done.primary[variant] = name


def measure_module(name: str, info: Any | None, limits: Limits = FULL) -> Measured:
    """Measure a module on torch's own samples and the recipes, and the functions that its forward calls."""
    done = Measured(name, origin="recipe" if info is None else "module")
    calls = [samples.module_call(*recipe) for recipe in module_recipes.modules().get(name, ())]
    calls += [] if info is None else list(samples.of_module(info))
    _measure_modules(done, name, calls, limits)
    return done


def _measure_modules(done: Measured, name: str, calls: Sequence[Call], limits: Limits) -> None:
    if any(len(list(_spec(call).instance.parameters())) > MANY_PARAMETERS for call in calls):
        calls = [replace(call, module=replace(_spec(call), grouped=True)) for call in calls]
    extra = [_changed(call) for call in calls[:3]]
    chosen = samples.diverse(calls, limits.module) + extra
    _measure_calls(done, name, chosen, limits)
    for call in chosen:
        for inner in _functions_called(call):
            records = done.records.setdefault(inner.name, [])
            if len(records) < limits.primary:
                records.append(measure(inner, defaults_of(inner.name), Effort(gradient=False)))


def _spec(call: Call) -> ModuleSpec:
    assert call.module is not None
    return call.module


def _changed(call: Call) -> Call:
    return call.with_tensors(lambda t: t.transpose(0, 1).contiguous().transpose(0, 1) if t.ndim > 1 else t)


class _Functions(TorchFunctionMode):
    """Collects the calls of `torch.nn.functional` made under it."""

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        names = [n for n in spellings_of(func) if n.startswith("nn.functional.")]
        call = samples.named_call(names[0], tuple(args), dict(kwargs)) if names else None
        if call is not None:
            self.calls.append(call.with_tensors(lambda t: t.detach().clone()))
        return func(*args, **kwargs)


def _functions_called(call: Call) -> list[Call]:
    seen = _Functions()
    with seen:
        try:
            run(call)
        except REFUSALS:  # The module's own record tells of the failure.
            return []
    return seen.calls


def measure_recipes(group: str, lines: Sequence[Recipe]) -> Measured:
    """Measure calls that no test sample of torch makes."""
    done = Measured(f"recipe {group}", origin="recipe")
    for recipe in lines:
        call = samples.named_call(recipe.name, recipe.args, recipe.kwargs)
        if call is None:
            done.notes.append(f"{recipe.name}: no overload takes the recipe's arguments")
            continue
        record = measure(call, defaults_of(recipe.name), Effort(silent=True))
        done.records.setdefault(recipe.name, []).append(record)
    return done
