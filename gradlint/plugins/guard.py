"""What a plugin's code raises is the plugin's own mistake: noted once for each file, while the check goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

_Result = TypeVar("_Result")

_NOTED: ContextVar[dict[str, Exception] | None] = ContextVar("noted", default=None)


@contextmanager
def noting() -> Iterator[dict[str, Exception]]:
    """Collect what the plugins raise over one file, by whose it is."""
    noted: dict[str, Exception] = {}
    token = _NOTED.set(noted)
    try:
        yield noted
    finally:
        _NOTED.reset(token)


def has_failed(plugin: str) -> bool:
    """Return whether a rule or a detector of a plugin has raised in this file; those of no plugin have not."""
    return plugin != "" and any(who.endswith(f" of {plugin}") for who in _NOTED.get() or ())


def guarded(who: str, act: Callable[[], _Result], passing: tuple[type[Exception], ...]) -> _Result | None:
    """Do something of a plugin's; None where it raises, or has raised in this file before.

    What gradlint itself raises to end its work is `passing`. Where nobody notes, the exception is raised.
    """
    noted = _NOTED.get()
    if noted is None:
        return act()
    if who in noted:
        return None
    try:
        return act()
    except passing:
        raise
    except Exception as error:
        noted[who] = error
        return None
