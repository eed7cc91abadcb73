"""What a repro may be made of: modules, names in them, attributes of values, builtins. All else is refused.

The lists in `allowed.txt` name harmless things one by one. Operations of torch come from the table of facts, which
holds what computes with tensors and nothing that opens a file. Families of classes are patterns on a package that
holds nothing else in capitals.
"""

from __future__ import annotations

import difflib
import functools
import re
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

_FAMILIES = re.compile(
    r"math\.[a-z]\w*"
    r"|torch\.nn\.[A-Z]\w*"
    r"|torch\.nn\.modules\.(?:\w+\.)?[A-Z]\w*"
    r"|torch\.optim\.(?:lr_scheduler\.)?[A-Z]\w*"
    r"|torch\.distributions\.(?:[a-z]\w*\.)?[A-Z]\w*"
    r"|torch\.(?:cuda\.)?(?:Float|Double|Half|Long|Int|Short|Byte|Bool|BFloat16)Tensor",
    re.ASCII,
)


@functools.cache
def _paths() -> frozenset[str]:
    operations = {f"torch.{name}" for name in load() if not name.split(".")[-1].startswith("_")}
    numpy = {f"numpy.{name}" for name in _LISTS["numpy"]}
    return frozenset({*operations, *_LISTS["torch"], *numpy, *_LISTS["python"]})


def is_allowed(path: str) -> bool:
    """Return whether what stands under a dotted name may be a value of a repro."""
    return path in _paths() or (path not in MODULES and _FAMILIES.fullmatch(path) is not None)


def is_slip(name: str) -> bool:
    """Return whether a name may be a typing error for one that is allowed, and is none of those that lead out."""
    if name.startswith("_") or name in NEVER or len(name) < _SHORTEST_SLIP:
        return False
    known = {*attributes(), *(path.rpartition(".")[2] for path in _paths())}
    return name not in known and bool(difflib.get_close_matches(name, known, 1, _NEAR))


@functools.cache
def attributes() -> frozenset[str]:
    """Attributes that may be read of any value."""
    methods = {name.removeprefix("Tensor.") for name in load() if name.startswith("Tensor.")}
    public = {name for name in methods if not name.startswith("_")}
    return frozenset({*public, *_LISTS["attributes"], *load().plain} - NEVER)
