"""What a program does under torch, as plain data that travels between processes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

FILENAME = "example.py"
Fact = bool | int | str | tuple[int | None, ...] | None


@dataclass(frozen=True)
class Raised:
    """An exception that left the program. `line` is the innermost place inside the program itself."""

    type: str
    text: str
    line: int | None


@dataclass(frozen=True)
class Revealed:
    """One call of `reveal`: its line, and the facts of a tensor, or none for a value that is no tensor."""

    line: int
    facts: Mapping[str, Fact]


@dataclass(frozen=True)
class Outcome:
    """What happened. `shown` is the truth of the `shows` expression, None if the program did not get there.

    `broken` says why there is no result: the time ran out, or the process died.
    """

    raised: Raised | None = None
    reveals: tuple[Revealed, ...] = ()
    shown: bool | None = None
    broken: str | None = None

    def to_json(self) -> dict[str, Any]:
        """The outcome in JSON's types."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Outcome:
        """The outcome that `to_json` wrote."""
        return cls(
            raised=None if data["raised"] is None else Raised(**data["raised"]),
            reveals=tuple(_revealed(each) for each in data["reveals"]),
            shown=data["shown"],
            broken=data["broken"],
        )


def _revealed(data: Mapping[str, Any]) -> Revealed:
    # JSON has no tuples, and the facts no lists.
    facts = {key: tuple(fact) if isinstance(fact, list) else fact for key, fact in data["facts"].items()}
    return Revealed(data["line"], facts)
