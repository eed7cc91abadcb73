"""gradlint reads the program that torch has run: did it see the mistake, did it see one that is not there."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from gradlint.check import check_source
from gradlint.domain.finding import Finding

from .oracle import FILENAME, Outcome

Verdict = Literal["found", "missed", "quiet", "false alarm", "crash", "not judged"]


@dataclass(frozen=True)
class Said:
    """What matters of a finding of severity error: the code, the lines it points at, the message."""

    code: str
    lines: tuple[int, ...]
    message: str


@dataclass(frozen=True)
class Judgement:
    """What gradlint said of one program, held against what torch did."""

    verdict: Verdict
    said: tuple[Said, ...] = ()
    crash: str = ""


def errors_of(source: str) -> tuple[Said, ...]:
    """Return what gradlint calls an error in a program."""
    return tuple(said_by(finding) for finding in check_source(source, FILENAME) if finding.severity == "error")


def said_by(finding: Finding) -> Said:
    """What matters of one finding."""
    own = range(finding.span.start.row, finding.span.end.row + 1)
    related = (row for place in finding.related for row in range(place.span.start.row, place.span.end.row + 1))
    return Said(finding.code, (*own, *related), finding.message)


def meets(said: Sequence[Said], outcome: Outcome) -> bool:
    """Tell whether a finding points at the line that raised or warned, or at a line that caused it."""
    lines = {line for line in (outcome.line, *outcome.culprits) if line is not None}
    return any(lines.intersection(one.lines) for one in said)


def judge(source: str, outcome: Outcome) -> Judgement:
    """Hold gradlint's findings against torch's outcome. A crash of gradlint is a verdict, never silence."""
    if outcome.kind in ("dropped", "doubtful"):
        return Judgement("not judged")
    try:
        said = errors_of(source)
    except Exception as error:
        return Judgement("crash", crash="".join(traceback.format_exception(error)[-3:]))
    if outcome.kind == "fails":
        return Judgement("found" if meets(said, outcome) else "missed", said)
    return Judgement("false alarm" if said else "quiet", said)
