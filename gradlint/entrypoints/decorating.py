"""Several options of click as one decorator."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

Decorator: TypeAlias = "Callable[[Callable[..., Any]], Callable[..., Any]]"


def with_options(options: Sequence[Decorator]) -> Decorator:
    """Return the decorator that adds options to a command, in their order."""

    def decorated(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorated
