"""What a run proves about a finding."""

from __future__ import annotations

import re
from typing import Literal, NamedTuple

from gradlint.confirm.run.protocol import Ran


class Expectation(NamedTuple):
    """What a finding says torch will do with a repro.

    `effect` is `raises`, or the name of a silent effect. With `raises`, `pattern` is searched in torch's message
    and `line` is the innermost line of the repro on the way of the error. A silent effect is shown by probes:
    expressions on names of the repro that must all be true after it ran through; measures may be called by name.
    """

    effect: str
    pattern: str | None = None
    line: int | None = None
    probes: tuple[str, ...] = ()


class Verdict(NamedTuple):
    """`reason` is one line; `error` is torch's own text where it raised."""

    verdict: Literal["confirmed", "refuted", "unconfirmed"]
    reason: str
    error: str | None = None
    seconds: float = 0.0


# Errors that torch raises and that no plain Python expression can be made to raise with a text of choice.
_TORCH_RAISES = {
    *("RuntimeError", "TypeError", "ValueError", "AttributeError", "NotImplementedError", "IndexError"),
    *("AssertionError", "OutOfMemoryError", "LinAlgError"),
}
# A single word in quotes is the name of a type, and proves as much as the rest of the text.
_QUOTED = re.compile(r"'[^']*\s[^']*'|\"[^\"]*\s[^\"]*\"")
_WHY_NOTHING = {
    "timeout": "the repro takes too long",
    "memory": "the repro needs too much memory",
    "denied": "the repro does what the sandbox forbids",
    "crashed": "the process of the repro died",
}


def judge(expected: Expectation, ran: Ran) -> Verdict:
    """Confirmed if torch did what was said, refuted if it did something else and came to the end, else neither."""
    error = f"{ran.error_type}: {ran.message}" if ran.outcome == "raised" else None
    verdict, reason = _compare(expected, ran)
    return Verdict(verdict, reason, error, ran.seconds)


_Compared = tuple[Literal["confirmed", "refuted", "unconfirmed"], str]


def _compare(expected: Expectation, ran: Ran) -> _Compared:
    if ran.outcome in _WHY_NOTHING:
        return "unconfirmed", f"{_WHY_NOTHING[ran.outcome]}: {_first_line(ran.message)}"
    if expected.effect == "raises":
        return (
            _compare_error(expected, ran)
            if ran.outcome == "raised"
            else ("refuted", "it ran through: torch raised nothing")
        )
    if ran.outcome == "raised":
        return "unconfirmed", f"the repro raises {ran.error_type}: {_first_line(ran.message)}"
    return _compare_probes(expected, ran)


def _compare_error(expected: Expectation, ran: Ran) -> _Compared:
    if ran.forced or ran.error_type not in _TORCH_RAISES:
        return "unconfirmed", f"the repro raises {ran.error_type} by itself: {_first_line(ran.message)}"
    if expected.line is not None and ran.line != expected.line:
        return "unconfirmed", f"the repro raises elsewhere, in line {ran.line}: {_first_line(ran.message)}"
    if expected.pattern is not None and not says(ran, expected.pattern):
        return "unconfirmed", f"torch raises something else: {_first_line(ran.message)}"
    return "confirmed", "torch raised the error"


def says(ran: Ran, pattern: str) -> bool:
    """Whether the message holds the pattern, and not only in something of the repro that it quotes.

    `int("a text")` and `{}["a text"]` raise errors with any text one likes, but quote it.
    """
    message = ran.message or ""
    quoted = [] if ran.error_type == "RuntimeError" else [match.span() for match in _QUOTED.finditer(message)]
    return any(
        not any(start <= found.start() and found.end() <= end for start, end in quoted)
        for found in re.finditer(pattern, message)
    )


def _compare_probes(expected: Expectation, ran: Ran) -> _Compared:
    if not expected.probes or len(ran.values) != len(expected.probes):
        return "unconfirmed", "there is no measure of the effect"
    for probe, probed in zip(expected.probes, ran.values, strict=True):
        if probed.error is not None:
            return "unconfirmed", f"`{probe}` raises {_first_line(probed.error)}"
        if probed.value is not True:
            return "refuted", f"`{probe}` is {probed.value!r}"
    return "confirmed", "the effect was measured"


def _first_line(text: str | None) -> str:
    return (text or "").strip().split("\n")[0][:200]
