"""Who takes what a generator yields."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import count
from typing import TypeAlias

from gradlint.domain.graph import Site
from gradlint.domain.state import GradMode, State
from gradlint.domain.value import Value

ConsumerStep: TypeAlias = "Callable[[list[State], list[Value]], list[State]]"

_numbers = count()


@dataclass(frozen=True, slots=True)
class Consumer:
    """Who runs at each `yield`: in which frame, and how. Ways out of what it runs carry its number past the body."""

    frame: int
    site: Site
    mode: GradMode
    in_own_file: bool
    step: ConsumerStep
    number: int = field(default_factory=_numbers.__next__)

    def out(self, kind: str) -> str:
        """Return a way out that is the consumer's, not the generator's."""
        return f"{kind}@{self.number}"
