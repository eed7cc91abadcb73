"""What is asked of the sandbox and what it answers, as plain data that travels between processes."""

from __future__ import annotations

import ast
import signal
from typing import Literal, NamedTuple

End = Literal["raised", "finished", "timeout", "memory", "denied", "crashed"]
"""How a run ended. `denied`: it tried what the sandbox forbids. `crashed`: the process died, or could not start."""

Value = bool | int | float | str | None


class Request(NamedTuple):
    """A repro to execute, and expressions to evaluate in its names after it; the answer must begin with the token.

    `slips` are attributes that the gate lets through as names that nothing has: if something has one, it is not run.
    A repro that is `watched` asks before each use of an attribute and each call; tests of the walls leave that out.
    """

    script: str
    probes: tuple[str, ...]
    seconds: float
    token: str
    slips: tuple[str, ...] = ()
    watched: bool = True


class Probed(NamedTuple):
    """What a probe evaluated to, or the error that it raised; a value that is no plain one is shown as text."""

    value: Value = None
    error: str | None = None


class Ran(NamedTuple):
    """The end of one run.

    `line` is the innermost line of the repro in the traceback and `lines` are all of them, outermost first.
    `forced` says that the repro itself raised or altered the error, which proves nothing about torch. `message`
    is torch's text after `raised`, else one line that says why there is no result. `values` are those of the probes
    at the end, or at the error.
    """

    outcome: End
    error_type: str | None = None
    message: str | None = None
    line: int | None = None
    lines: tuple[int, ...] = ()
    forced: bool = False
    seconds: float = 0.0
    values: tuple[Probed, ...] = ()


def encode(ran: Ran) -> str:
    """Return one line of text. Only `repr` of builtin types is used, which a repro cannot alter."""
    return repr((*ran[:-1], tuple(tuple(value) for value in ran.values)))


def decode(text: str, token: str) -> Ran | None:
    """Return the run that `encode` wrote behind the token, or None if somebody else wrote the text."""
    if not text.startswith(f"{token} ") or not text.endswith("\n"):
        return None
    try:
        ran = Ran(*ast.literal_eval(text.removeprefix(f"{token} ")))
        return ran._replace(values=tuple(Probed(*value) for value in ran.values))
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
        return None


_PATIENCE = 10.0
"""How often its processor time a repro may take by the clock: on a busy machine it waits for its turn."""


def patience(seconds: float) -> float:
    """Return the wall time to wait for so much processor time; equal where the system does not count it."""
    return seconds * _PATIENCE if hasattr(signal, "setitimer") else seconds
