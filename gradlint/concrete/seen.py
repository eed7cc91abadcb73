"""What the concrete machine has seen: the type of a fault or refusal, and its fields, with places for syntax nodes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from gradlint.concrete.places import Place, Spot
from gradlint.domain.event import Event

ATTRIBUTE = "_gradlint_seen"
"""What an exception carries: if the program catches it, nothing is reported."""


@dataclass(frozen=True)
class Seen:
    """An event at a place. The places among its fields become syntax nodes when it is reported.

    A field whose place cannot be found is None then; the event at its own place is dropped.
    """

    kind: type[Event]
    place: Place | Spot
    fields: Mapping[str, object] = field(default_factory=dict)

    @property
    def key(self) -> tuple[type[Event], tuple[int, int]]:
        """Return what tells it from others of which one is enough."""
        return self.kind, self.place.key


def carried_by(error: BaseException | None) -> list[Seen]:
    """Return what was attached to an exception, and to those that led to it."""
    found: list[Seen] = []
    known: set[int] = set()
    while error is not None and id(error) not in known:
        known.add(id(error))
        one = getattr(error, ATTRIBUTE, None)
        if isinstance(one, Seen):
            found.append(one)
        error = error.__cause__ or error.__context__
    return found
