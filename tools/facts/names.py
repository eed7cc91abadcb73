"""Which spellings name which callable of torch."""

from __future__ import annotations

import functools
import operator
import types
from collections.abc import Callable

import torch
import torch.nn.utils

NAMESPACES: dict[str, object] = {
    "": torch,
    "nn.functional.": torch.nn.functional,
    "linalg.": torch.linalg,
    "fft.": torch.fft,
    "special.": torch.special,
    "nn.init.": torch.nn.init,
    "nn.utils.": torch.nn.utils,
    "nn.utils.rnn.": torch.nn.utils.rnn,
    "masked.": torch.masked,
    "sparse.": torch.sparse,
    "Tensor.": torch.Tensor,
}

# In-place operators that Python spells otherwise than torch.
_OPERATORS = {
    "div": ("truediv",),
    "true_divide": ("truediv",),
    "floor_divide": ("floordiv",),
    "remainder": ("mod",),
    "bitwise_and": ("and",),
    "bitwise_or": ("or",),
    "bitwise_xor": ("xor",),
    "bitwise_not": ("invert",),
    "bitwise_left_shift": ("lshift",),
    "bitwise_right_shift": ("rshift",),
    "lt": ("lt",),
}


def attribute(name: str) -> object | None:
    """Return the object that `name` spells below `torch`, or None."""
    found: object = torch
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found


def is_property(name: str) -> bool:
    """Say whether the name is an attribute of a tensor that is read, not called."""
    return isinstance(attribute(name), (types.GetSetDescriptorType, property))


def callable_of(name: str) -> Callable[..., object]:
    """Return what to call for the name: the function itself, or the reading of an attribute."""
    found = attribute(name)
    if is_property(name):
        return operator.attrgetter(name.removeprefix("Tensor."))
    if not callable(found):
        raise LookupError(f"torch.{name} is neither a callable nor a tensor's attribute")
    return found


@functools.cache
def _index() -> dict[object, tuple[str, ...]]:
    index: dict[object, tuple[str, ...]] = {}
    for prefix, namespace in NAMESPACES.items():
        for part in dir(namespace):
            found = getattr(namespace, part, None)
            if isinstance(found, types.GetSetDescriptorType):
                found = found.__get__
            if not callable(found) or isinstance(found, type) or not _public(prefix, part):
                continue
            index[found] = (*index.get(found, ()), prefix + part)
    return index


def _public(prefix: str, part: str) -> bool:
    # Dunders are spelled by operators; `Tensor.__class__` and its like are no operations but harmless here.
    return not part.startswith("_") or (prefix == "Tensor." and part.startswith("__"))


def spellings_of(function: object) -> tuple[str, ...]:
    """Return every public name of this very object, in the order of `NAMESPACES`."""
    return _index().get(function, ())


def variants_of(name: str) -> tuple[str, ...]:
    """Return names that may be the same operation as `name`: methods, in-place forms, operators."""
    if "." in name and not name.startswith(("Tensor.", "nn.functional.", "linalg.", "special.")):
        return ()
    prefix, _, plain = name.rpartition(".")
    stems = (plain.strip("_"), *_OPERATORS.get(plain, ()))
    dunders = [f"Tensor.__{i}{stem}__" for stem in stems for i in ("", "i")]
    methods = [] if prefix in {"nn.functional", "special"} else [f"Tensor.{plain}", f"Tensor.{plain}_"]
    functions = [f"{prefix}.{plain}_" if prefix and prefix != "Tensor" else f"{plain}_"]
    if prefix == "nn.functional":
        dunders = []
    candidates = dict.fromkeys([*methods, *functions, *dunders])
    return tuple(c for c in candidates if c != name and not name.startswith("Tensor.__") and attribute(c))
