"""Measure which names of torch are one operation: `python -m tools.measure_aliases`.

Candidates are names that differ by a prefix, a trailing underscore or the dunder of an operator, that torch's own
tests (`op_db`) list as aliases, or that a docstring calls an alias. Two of them are one operation if the one gives
what the other gives, on every sample of torch's tests and every recipe that both take. `maximum` is not `max`, which
takes more; unless a docstring says so, the narrower of two that torch tests by themselves is no alias.

A module is a function if its result is what the function gives of the module's input.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import click
import torch
from torch.overrides import TorchFunctionMode
from torch.testing._internal.common_methods_invocations import op_db
from torch.testing._internal.common_modules import module_db

from gradlint.facts import load
from gradlint.facts.aliases import PREFIXES, is_module
from tools.facts import module_recipes, recipes, samples
from tools.facts.call import Call, run, tensors_in
from tools.facts.names import attribute, is_property, spellings_of, variants_of
from tools.facts.probe import REFUSALS

OUTPUT = Path(__file__).parent.parent / "gradlint" / "facts" / "aliases.json"

MOST = 24
"""How many calls of a name are compared."""

_SAYS_ALIAS = re.compile(r"Alias (?:for|of) :(?:func|meth):`~?(?:torch\.)?([\w.]+)`")

NAMES = frozenset(name for name in load() if not is_module(name) and not is_property(name) and attribute(name))

Calls = Mapping[str, list[Call]]


@click.command()
@click.option("--output", type=click.Path(path_type=Path), default=OUTPUT, help="Where the names go.")
def main(output: Path) -> None:
    """Measure torch and write the aliases."""
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # Deprecations of torch's own test samples say nothing about names.
        output.write_text(json.dumps(measured(), indent=0) + "\n")


def measured() -> dict[str, object]:
    """Return everything that the file holds."""
    calls, listed = all_calls()
    classes = Classes(calls, listed)
    same: dict[str, set[str]] = defaultdict(set)
    for name in classes.one_of:
        one = classes.canonical(name)
        other = name if name in classes.apart else stem(name)
        if other != one:
            same[one].add(other)
    functions = {name: classes.canonical(function) for name, function in sorted(functions_of_modules().items())}
    return {
        "torch": torch.__version__.partition("+")[0],
        "same": {one: " ".join(sorted(others)) for one, others in sorted(same.items())},
        "modules": functions,
        "apart": " ".join(sorted(classes.apart)),
    }


def stem(name: str) -> str:
    """Return the name without its prefix."""
    return name.removeprefix(next((prefix for prefix in PREFIXES if name.startswith(prefix)), ""))


def all_calls(most: int = MOST) -> tuple[Calls, Mapping[str, set[str]]]:
    """Return the calls of each name that torch's tests and the recipes make, and the aliases that the tests list."""
    calls: dict[str, list[Call]] = defaultdict(list)
    listed: dict[str, set[str]] = defaultdict(set)

    def note(name: str, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        call = samples.named_call(name, args, kwargs) if name in NAMES else None
        if call is not None:
            calls[name].append(call)

    for op in op_db:
        for name, args, kwargs in samples.of_op(op):
            listed[name].update(alias.name for alias in op.aliases)
            note(name, args, kwargs)
    for lines in recipes.groups().values():
        for recipe in lines:
            note(recipe.name, recipe.args, recipe.kwargs)
    return {name: samples.diverse(found, most) for name, found in calls.items()}, listed


class Classes:
    """The names that are one operation, joined; and those that only look as if they were."""

    def __init__(self, calls: Calls, listed: Mapping[str, set[str]]) -> None:
        self.one_of: dict[str, str] = {name: name for name in NAMES}
        self.apart: set[str] = set()
        self._calls = calls
        told = [(alias, name) for name, aliases in listed.items() for alias in aliases]
        self._aliases = {stem(one) for one, of in (*told, *_ALIASES.items()) if stem(one) != stem(of)}
        self._by_stem: dict[str, set[str]] = defaultdict(set)
        for name in NAMES:
            self._by_stem[stem(name)].add(name)
        for name in sorted(calls):
            for other in sorted(self._candidates(name, listed.get(name, set()))):
                self._compare(name, other)
        for name in sorted(NAMES):
            for other in sorted(self._by_stem[stem(name)] - self.apart):
                self._join(name, other) if name not in self.apart else None

    def canonical(self, name: str) -> str:
        """Return the name that stands for the class."""
        root = self._root(name)
        members = [other for other in self.one_of if self._root(other) == root]
        best = min(members, key=self._rank)
        return best if best in self.apart else stem(best)

    def _rank(self, name: str) -> tuple[bool, bool, bool, bool, int, str]:
        """The name under which torch tests and documents an operation comes first."""
        plain = stem(name)
        is_prefixed = name not in (plain, f"Tensor.{plain}")
        return name in self.apart, plain.endswith("_"), plain in self._aliases, is_prefixed, len(plain), name

    def _candidates(self, name: str, listed: Iterable[str]) -> set[str]:
        stems = {stem(name), *map(stem, listed), *(stem(n) for n, of in _ALIASES.items() if stem(of) == stem(name))}
        stems |= {stem(other) for alias in (name, *listed) for other in variants_of(alias)}
        stems |= {f"__r{one}__" for one in stems} | {f"{one}_" for one in stems}
        return {other for one in stems for other in self._by_stem[one]} - {name}

    def _compare(self, name: str, other: str) -> None:
        if stem(name) == stem(other):
            if self._are_apart(name, other):
                self.apart.add(max(name, other, key=lambda one: ("." in one.removeprefix("Tensor."), one)))
            return
        if self._root(name) != self._root(other) and self._are_one(name, other):
            self._join(name, other)

    def _are_one(self, name: str, other: str) -> bool:
        mine, theirs = self._calls[name], self._calls_of(stem(other))
        is_form = stem(other).startswith("__") or other.endswith("_")
        narrower = bool(theirs) and not is_form and other not in _ALIASES and not is_taken(mine, other)
        return not narrower and is_taken(theirs, name) and gives_same(mine, other)

    def _calls_of(self, plain: str) -> list[Call]:
        return [call for name in sorted(self._by_stem[plain] - self.apart) for call in self._calls.get(name, ())]

    def _are_apart(self, name: str, other: str) -> bool:
        """Whether two names below different prefixes are operations of their own.

        What has no documentation computes a documented function, and may take its arguments in another form.
        """
        calls = {of: self._calls.get(of, []) for of in (name, other)}
        found = [
            *outcomes_of([*calls[name], *shortened(calls[name])], other),
            *outcomes_of([*calls[other], *shortened(calls[other])], name),
        ]
        documented = all(getattr(attribute(one), "__doc__", None) for one in (name, other))
        return not all(found) if documented else bool(found) and not any(found)

    def _root(self, name: str) -> str:
        while self.one_of[name] != name:
            name = self.one_of[name]
        return name

    def _join(self, name: str, other: str) -> None:
        self.one_of[self._root(other)] = self._root(name)


def _told_alias(name: str) -> str | None:
    found = _SAYS_ALIAS.search(getattr(attribute(name), "__doc__", None) or "")
    return found and found.group(1)


_ALIASES = {name: of for name in NAMES if (of := _told_alias(name)) is not None}


def is_taken(calls: Iterable[Call], other: str) -> bool:
    """Return whether the other name takes every call: `maximum` does not take those of `max`."""
    return all(list(outcomes_of([call], other)) for call in calls)


def shortened(calls: Iterable[Call]) -> Iterator[Call]:
    """Yield the calls without their last arguments, as far as the name takes them."""
    for call in calls:
        shorter = (samples.named_call(call.name, call.args[:count], {}) for count in (1, 2))
        yield from (one for one in shorter if one is not None)


def gives_same(calls: Iterable[Call], other: str) -> bool:
    """Return whether the other name gives the same for each call that it takes, and takes any."""
    found = list(outcomes_of(calls, other))
    return bool(found) and all(found)


def outcomes_of(calls: Iterable[Call], other: str) -> Iterator[bool]:
    """Yield, for each call that both names take, whether the results are equal."""
    for call in calls:
        again = samples.named_call(other, call.args, call.kwargs)
        try:
            if again is not None:
                yield is_equal(run(call).result, run(again).result)
        except REFUSALS:
            continue


def is_equal(one: object, other: object) -> bool:
    """Return whether two results are the same, NaN being equal to itself."""
    if isinstance(one, torch.Tensor):
        return (
            isinstance(other, torch.Tensor)
            and one.dtype == other.dtype
            and one.shape == other.shape
            and bool(((one == other) | ((one != one) & (other != other))).all())
        )
    if isinstance(one, (tuple, list)):
        return isinstance(other, (tuple, list)) and len(one) == len(other) and all(map(is_equal, one, other))
    return type(one) is type(other) and one == other


# Modules.


class _Last(TorchFunctionMode):
    """Remembers the functions that got the input, with what they gave."""

    def __init__(self, given: Iterable[torch.Tensor]) -> None:
        super().__init__()
        self._given = {id(tensor) for tensor in given}
        self.calls: list[tuple[tuple[str, ...], object]] = []

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if any(id(tensor) in self._given for tensor in tensors_in((args, kwargs or {}))):
            self.calls.append((spellings_of(func), result))
        return result


def functions_of_modules() -> dict[str, str]:
    """Return for each module the one function that it calls with its input, and whose result it returns."""
    calls = {f"nn.{info.module_cls.__name__}": list(samples.of_module(info)) for info in module_db}
    for name, lines in module_recipes.modules().items():
        calls.setdefault(name, []).extend(samples.module_call(*line) for line in lines)
    found = {name: {one for call in several for one in _functions_of(call)} for name, several in calls.items()}
    plain = {name: {one.removesuffix("_with_indices") for one in several} for name, several in found.items()}
    return {name: several.pop() for name, several in plain.items() if len(several) == 1 and name in load()}


def _functions_of(call: Call) -> Iterator[str]:
    assert call.module is not None
    seen = _Last(tensors_in(call.args))
    try:
        with seen:
            result = call.module.instance(*call.args, **call.kwargs)
    except REFUSALS:
        return
    for names, given in seen.calls:
        known = [name for name in names if name in NAMES]
        if given is result and known and not any(given is tensor for tensor in tensors_in(call.args)):
            yield known[0]


if __name__ == "__main__":
    main()
