"""Measure what the gate has to know of torch: `python -m tools.measure_gate`.

Which names of the families of classes are classes, and which names of attributes values from outside a program have
and the gate does not allow: none of those may become readable because a program uses the same name.
"""

from __future__ import annotations

import functools
import importlib
import json
import math
import pkgutil
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType

import torch

from gradlint.confirm.gate import allowlist

OUTPUT = Path(allowlist.__file__).with_name("measured.json")

_MODULES = ("torch.nn", "torch.optim", "torch.optim.lr_scheduler")
_PACKAGES = ("torch.nn.modules", "torch.distributions")
_KINDS: tuple[type, ...] = (
    *(torch.nn.Module, torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler, torch.Tensor),
    *(torch.distributions.Distribution, torch.distributions.Transform, torch.distributions.constraints.Constraint),
    *(torch.nn.Parameter, torch.nn.Buffer),
)
_LIBRARY = (
    *("builtins", "types", "typing", "collections", "collections.abc", "functools", "itertools", "random"),
    *("contextlib", "abc", "dataclasses", "enum", "copy"),
)
_VALUES = (
    *("torch.storage", "torch.autograd", "torch.autograd.function", "torch.autograd.graph", "torch.autograd.grad_mode"),
    *("torch.amp.autocast_mode", "torch.amp.grad_scaler", "torch.nn.parameter", "torch.nn.utils.parametrize"),
    *("torch.nn.utils.rnn", "torch.optim.optimizer", "torch.optim.swa_utils", "torch.utils.hooks"),
    *("torch.utils.checkpoint", "torch.utils.data", "torch.utils.data.dataloader", "torch.utils.data.dataset"),
    *("torch.utils.data.sampler", "numpy.random", "numpy.random.mtrand"),
)


def classes() -> dict[str, list[str]]:
    """Return the classes of each family by the module that they may be named in, and the functions of `math`."""
    named = {module.__name__: sorted(_named(module)) for module in _inner()}
    named["math"] = sorted(name for name in vars(math) if not name.startswith("_"))
    return {name: found for name, found in sorted(named.items()) if found}


def _inner() -> Iterator[ModuleType]:
    """Yield the modules of the families, and those below them."""
    yield from (importlib.import_module(name) for name in (*_MODULES, *_PACKAGES))
    for package in _PACKAGES:
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
            yield importlib.import_module(f"{package}.{found.name}")


def _named(module: ModuleType) -> Iterator[str]:
    for name, value in vars(module).items():
        if isinstance(value, type) and issubclass(value, _KINDS) and not name.startswith("_"):
            yield name


def foreign() -> list[str]:
    """Return the names of attributes of classes that are not the program's own, and that the gate does not allow."""
    return _unknown(_reachable())


def inner() -> list[str]:
    """Return those of them that lead into the interpreter, and all that are private."""
    machinery = {type, memoryview, property, functools.partial, functools.cached_property}
    machinery |= {BaseException, AttributeError}
    machinery.update(_kinds_of(types))
    private = {name for name in foreign() if name.startswith("_")}
    return sorted({*private, *_unknown(machinery)})


def _kinds_of(module: ModuleType) -> list[type]:
    return [value for value in vars(module).values() if isinstance(value, type)]


def _unknown(kinds: Iterable[type]) -> list[str]:
    known = allowlist.attributes() | allowlist.DEFINABLE
    return sorted({name for kind in kinds for name in _attributes(kind)} - known)


def _attributes(kind: type) -> Iterator[str]:
    return (name for name in vars(kind) if not (name.startswith("__") and name.endswith("__")))


def _reachable() -> set[type]:
    """Return the classes of values that a program may get hold of, with their bases."""
    found = {type(value) for value in map(resolved, allowlist.paths())}
    for module in (*_inner(), *(importlib.import_module(name) for name in (*_LIBRARY, *_VALUES))):
        found.update(_kinds_of(module))
    return {base for kind in found for base in kind.__mro__}


def resolved(path: str) -> object:
    """Return what stands under a dotted name; nothing for what this torch has no more."""
    known, *names = path.split(".")
    value: object = importlib.import_module(known)
    for name in names:
        known = f"{known}.{name}"
        value = getattr(value, name, sys.modules.get(known))
    return value


def measured() -> str:
    """Return the text of the table."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = {name: " ".join(words) for name, words in classes().items()}
        names = {"foreign": " ".join(foreign()), "inner": " ".join(inner())}
        versions = {"torch": torch.__version__.split("+")[0], "python": list(sys.version_info[:2])}
        return json.dumps({**versions, "classes": found, **names}, indent=0) + "\n"


def main() -> None:
    """Write the table."""
    OUTPUT.write_text(measured(), encoding="utf-8")


if __name__ == "__main__":
    main()
