"""The names that something in the process of torch has: a slip of the pen is none of them, and can only raise."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Iterable, Iterator
from types import CodeType, FunctionType, ModuleType


class Taken:
    """All names of attributes of classes and modules, and all that some function reads or sets; gathered once."""

    def __init__(self) -> None:
        self._names: frozenset[str] | None = None

    def any_of(self, names: Iterable[str]) -> str | None:
        """Return one of the names that something has, if there is any."""
        if self._names is None:
            self._names = frozenset(_gathered())
        return next((name for name in names if name in self._names), None)


def _gathered() -> Iterator[str]:
    # What is frozen is not among the objects; it is frozen again for the children to come.
    gc.unfreeze()
    with warnings.catch_warnings():
        # To ask some old objects of torch for their class is to be warned of them.
        warnings.simplefilter("ignore")
        for one in gc.get_objects():
            kind = type(one)
            if issubclass(kind, (type, ModuleType)):
                yield from map(str, vars(one))
            elif kind is FunctionType:
                yield from _named(one.__code__)
    gc.freeze()


def _named(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _named(constant)
