"""gradlint reads the program that torch has run: did it see the mistake, did it see one that is not there."""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

from gradlint.check import check_paths, check_source
from gradlint.domain.finding import Finding
from gradlint.entrypoints.proving import prover
from gradlint.settings.config import Config

from .oracle import FILENAME, Outcome
from .several_files import files_of, has_several

Verdict = Literal["found", "missed", "quiet", "shown", "false alarm", "crash", "not judged"]
"""`shown`: the program runs, and torch shows each silent mistake that gradlint finds in it, once asked about that."""


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


def errors_of(source: str) -> tuple[Finding, ...]:
    """Return what gradlint calls an error in a program, in the lines of the whole text."""
    return tuple(finding for finding in _findings(source) if finding.severity == "error")


def _findings(source: str) -> Sequence[Finding]:
    if not has_several(source):
        return check_source(source, FILENAME)
    with TemporaryDirectory() as folder:
        for file in files_of(source):
            path = Path(folder, file.path)
            path.parent.mkdir(exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        return check_paths([folder], Config()).findings


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
        found = errors_of(source)
    except Exception as error:
        return Judgement("crash", crash="".join(traceback.format_exception(error)[-3:]))
    said = tuple(map(said_by, found))
    if outcome.kind == "fails":
        return Judgement("found" if meets(said, outcome) else "missed", said)
    if not said:
        return Judgement("quiet")
    return Judgement("shown" if _shows(found, source) else "false alarm", said)


def _shows(found: Sequence[Finding], source: str) -> bool:
    """Tell whether torch shows each of these mistakes, of which a run says nothing: what is never trained, say."""
    if has_several(source) or any(finding.effect != "silent" for finding in found):
        return False
    with prover(shrink=False) as torch:
        return all(torch.confirm(finding, source).verdict == "confirmed" for finding in found)
