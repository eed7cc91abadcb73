"""What a repro may be made of: modules, names in them, attributes of values, builtins. All else is refused.

The lists in `allowed.txt` name harmless things one by one. Operations of torch come from the table of facts, which
holds what computes with tensors and nothing that opens a file. `measured.json` has the classes of torch's networks,
optimizers, schedulers and distributions, and the attributes of foreign values; `tools/measure_gate.py` asks torch for
both.
"""

from __future__ import annotations

import difflib
import functools
import json
from collections import defaultdict
from collections.abc import Mapping
from importlib import resources

from gradlint.facts.table import load


def _read(text: str) -> Mapping[str, frozenset[str]]:
    """Return the words of each section."""
    words: defaultdict[str, set[str]] = defaultdict(set)
    section = ""
    for line in text.splitlines():
        if line.startswith("["):
            section = line.strip("[]")
        elif not line.startswith("#"):
            words[section].update(line.split())
    return {name: frozenset(found) for name, found in words.items()}


_LISTS = _read(resources.files("gradlint.confirm.gate").joinpath("allowed.txt").read_text(encoding="utf-8"))

MODULES = _LISTS["modules"]
BUILTINS = _LISTS["builtins"]
DEFINABLE = _LISTS["definable"]
WRITABLE = _LISTS["writable"]
NEVER = _LISTS["never"]

CALLED_ONLY = frozenset({"getattr", "setattr", "hasattr", "delattr", "type", "super"})
"""Builtins that are harmless with the arguments that the gate has seen, and so are no values to hand around."""

SETTABLE = frozenset(f"torch.backends.cudnn.{name}" for name in ("benchmark", "deterministic", "enabled", "allow_tf32"))

_SHORTEST_SLIP = 4
_NEAR = 0.75

_MEASURED = json.loads(resources.files("gradlint.confirm.gate").joinpath("measured.json").read_text(encoding="utf-8"))

FOREIGN: frozenset[str] = frozenset(_MEASURED["foreign"].split())
"""Attributes that values from outside of a repro have, and that may not be read of them.

A repro may use such a name for an attribute of its own; then only the value tells whose it is.
"""

INNER: frozenset[str] = frozenset(_MEASURED["inner"].split())
"""Those of them that are private or lead into the interpreter: a repro may read its own of `self` only."""


@functools.cache
def paths() -> frozenset[str]:
    """Return the dotted names of all values that a repro may begin with; none is a module."""
    operations = {f"torch.{name}" for name in load() if not name.split(".")[-1].startswith("_")}
    numpy = {f"numpy.{name}" for name in _LISTS["numpy"]}
    classes = {f"{module}.{name}" for module, names in _MEASURED["classes"].items() for name in names.split()}
    return frozenset({*operations, *_LISTS["torch"], *numpy, *_LISTS["python"], *classes} - MODULES)


def is_allowed(path: str) -> bool:
    """Return whether what stands under a dotted name may be a value of a repro."""
    return path in paths()


def is_slip(name: str) -> bool:
    """Return whether a name may be a typing error for one that is allowed, and is none of those that lead out."""
    if name.startswith("_") or name in NEVER or len(name) < _SHORTEST_SLIP:
        return False
    known = {*attributes(), *(path.rpartition(".")[2] for path in paths())}
    return name not in known and bool(difflib.get_close_matches(name, known, 1, _NEAR))


@functools.cache
def attributes() -> frozenset[str]:
    """Attributes that may be read of any value."""
    methods = {name.removeprefix("Tensor.") for name in load() if name.startswith("Tensor.")}
    public = {name for name in methods if not name.startswith("_")}
    return frozenset({*public, *_LISTS["attributes"], *load().plain} - NEVER)
