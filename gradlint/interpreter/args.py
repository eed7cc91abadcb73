"""The arguments of one call."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from gradlint.domain.value import Value


class Args(NamedTuple):
    """The arguments of one call. `open`: there may be more, from a star over something unknown; `hidden` is
    what it was over.
    """

    positional: tuple[Value, ...] = ()
    keywords: dict[str, Value] = {}  # noqa: RUF012 -- never changed
    open: bool = False
    hidden: tuple[Value, ...] = ()

    def get(self, position: int, name: str, default: Value = None) -> Value:
        """The argument that stands at a position or has a name."""
        if name in self.keywords:
            return self.keywords[name]
        return self.positional[position] if position < len(self.positional) else default

    def has(self, position: int, name: str) -> bool:
        """Whether the argument was given."""
        return name in self.keywords or position < len(self.positional)

    def prepend(self, value: Value) -> Args:
        """The arguments of the function behind a method."""
        return Args((value, *self.positional), self.keywords, self.open, self.hidden)

    def values(self) -> Iterable[Value]:
        """All of them."""
        yield from self.positional
        yield from self.keywords.values()
        yield from self.hidden
