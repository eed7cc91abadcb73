"""A stand-in for tqdm: the loop without the bar."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any


class tqdm:  # noqa: N801 - the real name
    def __init__(self, iterable: Iterable[Any], **_: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Iterator[Any]:
        return iter(self._iterable)

    def set_postfix(self, **_: Any) -> None:
        """Nothing is shown."""

    def set_description(self, _: str) -> None:
        """Nothing is shown."""


def trange(n: int, **_: Any) -> tqdm:
    return tqdm(range(n))
