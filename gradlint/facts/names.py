"""The names that torch's namespaces and classes have, and which real one a name that they lack may stand for."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import cache
from importlib import resources
from typing import Any

from gradlint.domain.release import Release
from gradlint.facts.versions import absence, differing, ever, is_deprecated, is_there, stated

TENSOR = "torch.Tensor"
MODULE = "torch.nn.Module"
OPTIMIZER = "torch.optim.Optimizer"

_SHORTEST = 5
"""Shorter names are near to too many others."""


@cache
def _data(file: str = "names.json") -> Mapping[str, Any]:
    text = resources.files("gradlint.facts").joinpath(file).read_text(encoding="utf-8")
    return json.loads(text)  # type: ignore[no-any-return]


def names_of(path: str) -> frozenset[str] | None:
    """Return all names of a namespace or class, in the stated release; None for one that was not measured."""
    return _names_of(path, stated())


@cache
def _names_of(path: str, release: Release | None) -> frozenset[str] | None:
    found = _data()["names"].get(path)
    if found is None:
        return None
    has, lacks = differing(path, release) if release is not None else (frozenset[str](), frozenset[str]())
    return (frozenset(found.split()) | has) - lacks


@cache
def attributes_of_modules() -> frozenset[str]:
    """Return all attributes that objects of torch's own module classes may have, besides their parameters."""
    return frozenset(_data()["attributes"].split())


def replacement(path: str) -> str | None:
    """Return what to write for a name that torch has had and removed, such as `torch.symeig`.

    None where the stated release still has it.
    """
    owner, _, name = path.rpartition(".")
    found: str | None = _data()["removed"].get(path)
    later: str | None = found or _data()["deprecated"].get(path)
    if later is None or absence(owner, name) is not None:
        return later
    return None if is_there(owner, name) else found


def newer(path: str) -> str | None:
    """Return what to write for a name that torch still has, with a warning, such as `torch.nn.init.xavier_uniform`.

    None where the stated release does not warn.
    """
    found: str | None = _data()["deprecated"].get(path)
    return found if found is not None and is_deprecated(path) else None


_OF_BACKENDS = re.compile(r"is_[a-z]{1,2}pu")
"""What a package for another accelerator adds to torch, with `torch.utils.rename_privateuse1_backend`: `is_npu`."""


def meant(path: str, name: str) -> str | None:
    """Return the real name of a namespace or class that a missing one is a slip of; None if it has the name, or none
    is near. What any release has is no slip.

    >>> meant("torch.nn.functional", "soft_max")
    'softmax'
    """
    return _meant(path, name, stated())


@cache
def _meant(path: str, name: str, release: Release | None) -> str | None:
    known = _names_of(path, release)
    if known is None or name in known or ever(path, name) or name.startswith("_") or _OF_BACKENDS.fullmatch(name):
        return None
    public = [one for one in known if not one.startswith("_")]
    found = nearest(name, public)
    if found is None and path not in (TENSOR, MODULE, OPTIMIZER) and len(name) >= _SHORTEST:
        found = next((one for one in sorted(public) if one.startswith(f"{name}_") or _abbreviated(name, one)), None)
    return found


def _abbreviated(name: str, real: str) -> bool:
    """`nn.BatchNorm`, `clip_gradient_norm_`: without the number of dimensions, or with a word longer or shorter."""
    if _DIMENSIONS.fullmatch(real.removeprefix(name)) and real.startswith(name):
        return True
    mine, theirs = name.split("_"), real.split("_")
    return len(mine) == len(theirs) and all(
        one == other or (min(len(one), len(other)) > 3 and (one.startswith(other) or other.startswith(one)))
        for one, other in zip(mine, theirs, strict=True)
    )


_DIMENSIONS = re.compile(r"\dd")


@cache
def elsewhere(path: str, name: str) -> str | None:
    """Return where the name stands that a namespace or a kind of object lacks: in another namespace, or another kind.

    >>> elsewhere("torch", "NLLLoss"), elsewhere("torch.Tensor", "zero_grad")
    ('torch.nn.NLLLoss', 'optimizer.zero_grad')
    """
    known = names_of(path)
    if known is None or name in known or name.startswith("_") or path.startswith("torch.backends"):
        return None  # Those of backends make up attributes: not all of them are listed.
    if path in _OTHERS:
        return _OTHERS[path].get(name)
    found = [one for one in _data()["names"] if one not in _OTHERS and name in (names_of(one) or ())]
    return f"{min(found, key=_distant)}.{name}" if found else None


def _distant(path: str) -> tuple[int, str]:
    """Of several namespaces, the one that names are at home in, rather than one that has merely imported them."""
    return (_HOMES.index(path) if path in _HOMES else len(_HOMES), path)


_HOMES = ("torch", "torch.nn", "torch.optim", "torch.nn.functional", "torch.optim.lr_scheduler", "torch.utils.data")
_OTHERS: Mapping[str, Mapping[str, str]] = {
    TENSOR: {
        **{name: f"optimizer.{name}" for name in ("zero_grad", "step")},
        **{name: f"model.{name}" for name in ("parameters", "named_parameters", "train", "eval", "state_dict")},
        "astype": "to",
        "copy": "clone",
        "asnumpy": "numpy",
        "cast": "to",
        "assign": "copy_",
    },
    MODULE: {"backward": "loss.backward", "step": "optimizer.step", "detach": "output.detach"},
    OPTIMIZER: {"backward": "loss.backward", "parameters": "model.parameters"},
}
"""What is asked of one kind of object and is there in another, or in that of another library."""


@cache
def meant_keyword(path: str, name: str) -> str | None:
    """Return the real name of an argument that a wrong one is a slip of; None if the function takes it, or none is
    near.

    >>> meant_keyword("torch.optim.SGD", "momentun")
    'momentum'
    """
    known = _data("keywords.json").get(path)
    if known is None or name in known.split() or ever(path, name, "arguments"):
        return None
    taken = known.split()
    near = nearest(name, taken) or next((real for real in taken if _is_near(name, real)), None)
    return near or next((real for real in _SYNONYMS.get(name, ()) if real in taken), None)


def _is_near(name: str, real: str) -> bool:
    """Return whether short names are a letter apart: no other argument of the function can be meant."""
    return min(len(name), len(real)) >= _SHORTEST - 2 and _distance(name, real, 1) <= 1


_SYNONYMS = {"axis": ("dim",), "learning_rate": ("lr",), "keepdims": ("keepdim",), "retain": ("retain_graph",)}
"""What other libraries call an argument."""


_DISTINCT = ("backward", "detach", "zero_grad", "requires_grad_", "load_state_dict", "parameters", "named_parameters")
"""Names of methods that hardly anything but torch's objects has."""


@cache
def slip(word: str) -> str | None:
    """Return the distinct name of torch's that a word is a letter or a swap away from; None for all other words."""
    near = (real for real in _DISTINCT if real[0] == word[0] and word != real and _distance(word, real, 1) == 1)
    real = next(near, None)
    if real is None or word.rstrip("_") == real.rstrip("_") or f"{word}s" == real:
        return None
    return None if word == f"{real}s" and word not in _NO_PLURALS else real


_NO_PLURALS = ("backwards", "parameterss")
"""Names with an s too many that are slips: the others are plurals, which programs may have of their own."""


def near_own(name: str, own: Iterable[str]) -> str | None:
    """Return the one of a class's own names that a missing one is a slip of; of short names, a letter apart."""
    known = sorted(own)
    return nearest(name, known) or next((real for real in known if _is_near(name, real)), None)


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the one name that is a slip away: other case, underscores, a plural, a suffix, or a letter or two."""
    candidates = sorted(known)
    for near in (_same_letters, _other_ending, _one_slip, _two_slips):
        found = [one for one in candidates if near(name, one)]
        if found:
            return found[0] if len(found) == 1 else _closest(name, found)
    return None


def _closest(name: str, found: list[str]) -> str:
    """Of several names that are as near, one that begins alike and ends alike."""
    return max(found, key=lambda one: (one[-1] == name[-1], one[:3] == name[:3], -abs(len(one) - len(name)), one))


def _letters(name: str) -> str:
    return name.replace("_", "").lower()


def _same_letters(name: str, real: str) -> bool:
    """Short names differ in nothing but capitals: `optim.Sgd`."""
    if len(name) < _SHORTEST - 1:
        return len(name) > 2 and name.lower() == real.lower()
    return _letters(name) == _letters(real)


def _other_ending(name: str, real: str) -> bool:
    """`backwards`, `parameter`, `nn.CrossEntropy`, `F.cross_entropy_loss`"""
    one, other = _letters(name), _letters(real)
    if f"{one}loss" == other or one == f"{other}loss":
        return True
    return min(len(one), len(other)) >= _SHORTEST - 1 and one in (f"{other}s", other.removesuffix("s"))


def _one_slip(name: str, real: str) -> bool:
    return min(len(name), len(real)) > _SHORTEST and _distance(name, real, 1) <= 1


def _two_slips(name: str, real: str) -> bool:
    return min(len(name), len(real)) > 2 * _SHORTEST - 1 and _distance(name, real, 2) <= 2


def is_same_word(name: str, real: str) -> bool:
    """Return whether two names differ in case, underscores, or a plural only."""
    return _same_letters(name, real) or _other_ending(name, real)


def _distance(one: str, other: str, most: int) -> int:
    """Return how many letters are added, left out, exchanged, or swapped with the next, as far as `most`."""
    if abs(len(one) - len(other)) > most:
        return most + 1
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, mine in enumerate(one, start=1):
        older, before, row = before, row, [i]
        for j, theirs in enumerate(other, start=1):
            cost = min(before[j] + 1, row[j - 1] + 1, before[j - 1] + (mine != theirs))
            if i > 1 and j > 1 and mine == other[j - 2] and one[i - 2] == theirs:
                cost = min(cost, older[j - 2] + 1)
            row.append(cost)
        if min(row) > most:
            return most + 1
    return row[-1]
