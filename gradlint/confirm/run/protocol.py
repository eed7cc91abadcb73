"""What is asked of the sandbox and what it answers, as plain data that travels between processes."""

from __future__ import annotations

import ast
import signal
from collections.abc import Iterator
from typing import Literal, NamedTuple

End = Literal["raised", "finished", "timeout", "memory", "denied", "crashed"]
"""How a run ended. `denied`: it tried what the sandbox forbids. `crashed`: the process died, or could not start."""

Value = bool | int | float | str | None


SEEDS = (5_871_038_240_967_113, 2_209_467_715_380_461)
"""Where the random numbers of a run begin, and of one that must come to the same with other numbers.

They look like the seed that torch draws for a process of its own.
"""


class Request(NamedTuple):
    """A repro to execute, and expressions to evaluate in its names after it; the answer must begin with the token.

    `slips` are attributes that the gate lets through as names that nothing has: if something has one, it is not run.
    A repro that is `watched` asks before each use of an attribute and each call; tests of the walls leave that out.
    `seed` is where all random numbers begin.
    """

    script: str
    probes: tuple[str, ...]
    seconds: float
    token: str
    slips: tuple[str, ...] = ()
    watched: bool = True
    seed: int = SEEDS[0]


class Probed(NamedTuple):
    """What a probe evaluated to, or the error that it raised; a value that is no plain one is shown as text."""

    value: Value = None
    error: str | None = None


class Swallowed(NamedTuple):
    """An error that came up in a program and did not end it, as it was when it was first seen.

    The fields are those of `Ran`.
    """

    error_type: str
    message: str
    lines: tuple[int, ...]
    forced: bool


class Ran(NamedTuple):
    """The end of one run.

    `line` is the innermost line of the repro in the traceback and `lines` are all of them, outermost first.
    `forced` says that the repro itself raised or altered the error, which proves nothing about torch. `message`
    is torch's text after `raised`, else one line that says why there is no result. `values` are those of the probes
    at the end, or at the error. `swallowed` are the errors that the repro caught, or that something between it and
    torch did. A program that ends itself by `SystemExit` has `finished`, with this as its `error_type`.
    """

    outcome: End
    error_type: str | None = None
    message: str | None = None
    line: int | None = None
    lines: tuple[int, ...] = ()
    forced: bool = False
    seconds: float = 0.0
    values: tuple[Probed, ...] = ()
    swallowed: tuple[Swallowed, ...] = ()

    def all_raised(self) -> Iterator[Ran]:
        """Yield this run, and for each error that was swallowed a run that would have ended with it."""
        yield self
        for one in self.swallowed:
            last = one.lines[-1] if one.lines else None
            yield Ran("raised", one.error_type, one.message, last, one.lines, one.forced)


def encode(ran: Ran) -> str:
    """Return one line of text. Only `repr` of builtin types is used, which a repro cannot alter."""
    return repr((*ran[:-2], tuple(tuple(value) for value in ran.values), tuple(tuple(one) for one in ran.swallowed)))


def decode(text: str, token: str) -> Ran | None:
    """Return the run that `encode` wrote behind the token, or None if somebody else wrote the text."""
    if not text.startswith(f"{token} ") or not text.endswith("\n"):
        return None
    try:
        ran = Ran(*ast.literal_eval(text.removeprefix(f"{token} ")))
        values = tuple(Probed(*value) for value in ran.values)
        return ran._replace(values=values, swallowed=tuple(Swallowed(*one) for one in ran.swallowed))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


NOT_DECIDED = "not decided:"
"""How the message begins of a run that was given up by the clock: on another day it might have come to something."""

_PATIENCE = 30.0
"""How often its processor time a repro may take by the clock: on a busy machine it waits for its turn."""


def patience(seconds: float) -> float:
    """Return the wall time to wait for so much processor time; equal where the system does not count it."""
    return seconds * _PATIENCE if hasattr(signal, "setitimer") else seconds
