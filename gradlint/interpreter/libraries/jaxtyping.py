"""Annotations of jaxtyping: `Float[Tensor, "batch 3"]` says the type of the elements, and the sizes.

A size is a number, or a name that stands for the same size wherever a function's annotations have it. What is more than
that, such as `*batch`, `#n` or `n-1`, says nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gradlint.domain.shape import Shape, Sym

_GENERIC = {
    **dict.fromkeys(("Float", "Inexact"), "float"),
    **dict.fromkeys(("Int", "UInt", "Integer"), "int"),
    "Bool": "bool",
    "BFloat16": "bfloat16",
}
_SIZED = re.compile(r"(?:U?Int|Float|Complex)\d+")


def is_annotation(path: str) -> bool:
    """Return whether a name is that of a type of arrays."""
    return path.startswith("jaxtyping.")


def dtype_of(path: str) -> str | None:
    """Return the type of the elements that an annotation states; None where it leaves it open."""
    name = path.rpartition(".")[2]
    return name.lower() if _SIZED.fullmatch(name) else _GENERIC.get(name)


def shape_of(text: str, symbol: Callable[[str], Sym]) -> Shape:
    """Return the sizes that an annotation states; None where it leaves their number open."""
    sizes: list[int | Sym] = []
    for word in text.split():
        size = word.rpartition("=")[2]
        if size.startswith("*") or "..." in size:
            return None
        sizes.append(
            int(size) if size.isdecimal() else symbol(size) if size.isidentifier() and size[0] != "_" else Sym()
        )
    return tuple(sizes)
