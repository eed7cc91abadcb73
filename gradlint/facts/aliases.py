"""The one name of each operation, however a program spells it.

`torch.subtract`, `Tensor.sub_`, `x -= y` and `Tensor.__sub__` are all `sub`; `nn.Softmax` and `special.softmax` are
`softmax`. Messages show the name that the program has (`bare`); judgements ask for the canonical one. Which names are
one operation is measured: `python -m tools.measure_aliases` writes `aliases.json`.
"""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import Final, TypedDict

PREFIXES: Final = ("Tensor.", "nn.functional.", "special.", "linalg.", "torch.special.")
"""Under these, torch repeats functions that it has without one, or has functions that bear no other's name."""


class _Aliases(TypedDict):
    """The measured file: canonical names to other names, module classes to functions, and what is kept apart."""

    torch: str
    same: dict[str, str]
    modules: dict[str, str]
    apart: str


@cache
def _measured() -> _Aliases:
    found: _Aliases = json.loads(resources.files(__package__).joinpath("aliases.json").read_text(encoding="utf-8"))
    return found


@cache
def _same() -> dict[str, str]:
    return {name: one for one, names in _measured()["same"].items() for name in names.split()}


@cache
def _apart() -> frozenset[str]:
    return frozenset(_measured()["apart"].split())


@cache
def canonical(name: str) -> str:
    """Return the one name of an operation; a module without a function of its own keeps its class name.

    >>> canonical("Tensor.subtract_"), canonical("special.expit"), canonical("nn.Softmax"), canonical("nn.LSTM")
    ('sub', 'sigmoid', 'softmax', 'nn.LSTM')
    """
    found = bare(name)
    return _same().get(found, found)


@cache
def bare(name: str) -> str:
    """Return the name without what stands before it, for messages; for a module that of its function.

    >>> bare("Tensor.subtract_"), bare("special.expit"), bare("nn.Softmax"), bare("linalg.norm")
    ('subtract_', 'expit', 'softmax', 'linalg.norm')
    """
    if name in _apart():
        return name
    if is_module(name):
        return _measured()["modules"].get(name, name)
    prefix = next((one for one in PREFIXES if name.startswith(one)), "")
    return name.removeprefix(prefix)


def is_module(name: str) -> bool:
    """Return whether the name is that of a module class: `nn.Linear`."""
    return name.startswith("nn.") and name.count(".") == 1


def is_inplace(name: str) -> bool:
    """Return whether the name says that the operation writes to its first argument: `add_`, `Tensor.__iadd__`."""
    last = name.rpartition(".")[2]
    if last.endswith("__"):
        return last.startswith("__i") and f"__{last[3:]}" in _same()
    return last.endswith("_")
