"""Whether a run shows that torch raises what a finding says it does."""

from __future__ import annotations

import re

from gradlint.confirm.run.protocol import Ran

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


def doubt(ran: Ran, pattern: str | None, line: int | None = None) -> str | None:
    """Return why a run does not show an error of torch's own with a text like the pattern; None where it does.

    `line` is the innermost line of the repro on the way of the error.
    """
    said = (ran.message or "").strip().split("\n")[0][:200]
    if ran.outcome == "finished":
        return "it ran through: torch raised nothing"
    if ran.outcome in _WHY_NOTHING:
        return f"{_WHY_NOTHING[ran.outcome]}: {said}"
    if ran.forced or ran.error_type not in _TORCH_RAISES:
        return f"the repro raises {ran.error_type} by itself: {said}"
    if line is not None and ran.line != line:
        return f"the repro raises elsewhere, in line {ran.line}: {said}"
    if pattern is not None and not _says(ran, pattern):
        return f"torch raises something else: {said}"
    return None


def _says(ran: Ran, pattern: str) -> bool:
    """Return whether the message holds the pattern, and not only in something of the repro that it quotes.

    `int("a text")` and `{}["a text"]` raise errors with any text one likes, but quote it.
    """
    message = ran.message or ""
    quoted = [] if ran.error_type == "RuntimeError" else [match.span() for match in _QUOTED.finditer(message)]
    return any(
        not any(start <= found.start() and found.end() <= end for start, end in quoted)
        for found in re.finditer(pattern, message)
    )
