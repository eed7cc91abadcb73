"""Nodes of libcst, made faster than its classes make them while its parser runs.

The parser looks the class of each node up in the module `libcst`, by name.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import MISSING, fields
from functools import cache, lru_cache, partial

import libcst as cst

_Maker = Callable[..., object]

_BLANKS = ("SimpleWhitespace", "Newline")
_THREADS = 2
"""The one that works, and the one that waits for it (`running.with_deep_stack`)."""


@contextmanager
def made_fast(*, validated: bool) -> Iterator[None]:
    """Let the parser take one node for all blanks that are alike, and, if not `validated`, look at no node's parts.

    Nodes are frozen, and nobody asks where a blank stands. Measured with libcst 1.9 on opacus: a tree has two fifths
    fewer objects. That the parts of nodes fit together the parser has seen to; what only the nodes notice is letters
    of Unicode that are no part of a name. Measured on torch's `nn`, `optim` and `distributions`: a quarter of the
    parse. Where other threads run, which may ask for a class meanwhile, all but blanks are made by their classes.
    """
    makers = _blanks() if validated or threading.active_count() > _THREADS else _makers()
    names = vars(cst)
    classes = {name: names[name] for name in makers}
    names.update(makers)
    try:
        yield
    finally:
        names.update(classes)


@cache
def _blanks() -> dict[str, _Maker]:
    return {name: lru_cache(maxsize=1024)(getattr(cst, name)) for name in _BLANKS}


@cache
def _makers() -> dict[str, _Maker]:
    makers = _blanks().copy()
    for name, kind in vars(cst).items():
        if isinstance(kind, type) and issubclass(kind, cst.CSTNode) and not inspect.isabstract(kind):
            makers.setdefault(name, partial(_first, makers, name, kind))
    return makers


def _first(makers: dict[str, _Maker], name: str, kind: type[cst.CSTNode], /, **given: object) -> object:
    """Make the first node of a kind: compiling what makes all of them takes as long as a file of 200 lines."""
    makers[name] = vars(cst)[name] = make = _maker(kind)
    return make(**given)


def _maker(kind: type[cst.CSTNode]) -> _Maker:
    """Return what makes a node of a kind as `__init__` does, but for the call that validates it."""
    given: list[str] = []
    body: list[str] = []
    names: dict[str, object] = {"_new": object.__new__, "_put": object.__setattr__, "_kind": kind, "_missing": MISSING}
    for field in fields(kind):
        name, value = field.name, field.name
        names[f"_{name}"] = field.default
        if field.default_factory is not MISSING:
            names[f"_make_{name}"] = field.default_factory
            value = f"_make_{name}() if {name} is _missing else {name}"
        given.append(f"{name}=_{name}")
        body.append(f" _put(node, {name!r}, {value})\n")
    exec(f"def make({', '.join(given)}):\n node = _new(_kind)\n{''.join(body)} return node\n", names)
    return names["make"]  # type: ignore[return-value]
