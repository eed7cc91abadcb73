"""The score tells a good linter from a bad one: fake linters exercise it, on one program and its mutants."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gradlint.domain.finding import Finding, Position, Severity, Span

from .corpus import Mutant, Program, load, mutants
from .score import Guarded, catches, false_alarms

PROGRAM = next(program for program in load() if program.name == "dcgan_tiny")


def finding(row: int, severity: Severity = "error", code: str = "GRD999") -> Finding:
    span = Span(Position(row, 1), Position(row, 2))
    return Finding(code, "fake", "fake", severity, "raises", "fake.py", span, (row, row))


def silent(folder: Path, file: Path) -> Sequence[Finding]:
    return ()


def at_every_line(folder: Path, file: Path) -> Sequence[Finding]:
    return [finding(row) for row in range(1, len(file.read_text().splitlines()) + 1)]


def omniscient(folder: Path, file: Path) -> Sequence[Finding]:
    """Reports on the accepted rows of the mutant that it recognises, and nowhere else."""
    text = file.read_text()
    known = {mutant.files[mutant.mutation.file]: mutant for mutant in mutants([PROGRAM])}
    return [finding(min(known[text].accepted))] if text in known else []


def found(program: Program, mutant_hits: list[bool]) -> int:
    assert len(mutant_hits) == len(program.mutations)
    return sum(mutant_hits)


def test_a_silent_linter_finds_nothing_and_never_errs() -> None:
    assert false_alarms(silent, PROGRAM) == []
    assert found(PROGRAM, [bool(fate.hits) for fate in catches(silent, PROGRAM)]) == 0


def test_findings_that_the_original_has_too_do_not_count() -> None:
    assert len(false_alarms(at_every_line, PROGRAM)) == len(PROGRAM.files["dcgan_tiny.py"].splitlines())
    fates = {fate.mutant.mutation.name: fate for fate in catches(at_every_line, PROGRAM)}
    # The removed line leaves its neighbours, which the original had, and its accepted lines too.
    assert fates["generator-starved"].hits == ()


def test_a_finding_on_an_accepted_line_counts() -> None:
    assert false_alarms(omniscient, PROGRAM) == []
    assert found(PROGRAM, [bool(fate.hits) for fate in catches(omniscient, PROGRAM)]) == 3


def test_information_is_no_finding_unless_the_defect_is_fragile() -> None:
    def whispering(folder: Path, file: Path) -> Sequence[Finding]:
        return [finding(row.span.start.row, "info") for row in omniscient(folder, file)]

    assert found(PROGRAM, [bool(fate.hits) for fate in catches(whispering, PROGRAM)]) == 0


def test_a_finding_elsewhere_is_kept_apart() -> None:
    def astray(folder: Path, file: Path) -> Sequence[Finding]:
        return [finding(1)] if omniscient(folder, file) else []

    fates = catches(astray, PROGRAM)
    assert [(fate.hits, fate.elsewhere) for fate in fates] == [((), ((1, "GRD999"),))] * 3


def test_a_crash_is_kept_with_its_place() -> None:
    def crashing(folder: Path, file: Path) -> Sequence[Finding]:
        raise ValueError("broken")

    lint = Guarded(crashing)
    assert false_alarms(lint, PROGRAM) == []
    (crash,) = lint.crashes
    assert crash.startswith("ValueError: broken at test_score.py:")


def test_touched_lines_are_accepted_rows() -> None:
    by_name: dict[str, Mutant] = {mutant.mutation.name: mutant for mutant in mutants([PROGRAM])}
    mutant = by_name["fake-not-detached"]
    lines = mutant.files["dcgan_tiny.py"].splitlines()
    assert [lines[row - 1].strip() for row in sorted(mutant.accepted)] == [
        "output = netD(fake)",
        "errD_fake.backward()",
        "errG.backward()",
    ]
