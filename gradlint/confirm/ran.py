"""What executing a repro showed, as plain data that travels between processes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

End = Literal["raised", "finished", "timeout", "memory", "denied", "crashed"]
"""How a run ended. `denied`: it tried what the sandbox forbids. `crashed`: the process died, or could not start."""

Value = bool | int | float | str | None


class Probed(NamedTuple):
    """What a probe evaluated to, or the error that it raised; a value that is no plain one is shown as text."""

    value: Value = None
    error: str | None = None


class Ran(NamedTuple):
    """The end of one run.

    `line` is the innermost line of the repro in the traceback and `lines` are all of them, outermost first.
    `forced` says that the repro itself raised or altered the error, which proves nothing about torch. `message`
    is torch's text after `raised`, else one line that says why there is no result.
    """

    outcome: End
    error_type: str | None = None
    message: str | None = None
    line: int | None = None
    lines: tuple[int, ...] = ()
    forced: bool = False
    seconds: float = 0.0
    values: tuple[Probed, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The run in JSON's types."""
        return self._asdict()

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Ran:
        """The run that `to_json` wrote."""
        values = tuple(Probed(*value) for value in data["values"])
        return cls(**{**data, "lines": tuple(data["lines"]), "values": values})
