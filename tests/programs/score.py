"""Score gradlint over the corpus: silence over originals, a finding on an accepted line of each mutant."""

from __future__ import annotations

import tempfile
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from gradlint.domain.finding import Finding

from .corpus import Mutant, Program, mutate

Linter = Callable[[Path, Path], Sequence[Finding]]
"""Lint a folder, and give the findings in one file of it: a fault may show only where other files run it."""


class Guarded:
    """A linter whose crashes are kept in `crashes`; the score goes on without a finding, and prints them."""

    def __init__(self, lint: Linter) -> None:
        self._lint = lint
        self.crashes: dict[str, str] = {}

    def __call__(self, folder: Path, file: Path) -> Sequence[Finding]:
        try:
            return self._lint(folder, file)
        except Exception as error:
            place = traceback.extract_tb(error.__traceback__)[-1]
            crash = f"{type(error).__name__}: {error} at {Path(place.filename).name}:{place.lineno}"
            self.crashes.setdefault(crash, file.name)
            return ()


@dataclass(frozen=True)
class FalseAlarm:
    """A finding of severity error or warning in a program that is right."""

    file: str
    row: int
    code: str
    message: str


@dataclass(frozen=True)
class Catch:
    """How a mutant fared: the findings on accepted rows, and the codes of those elsewhere."""

    mutant: Mutant
    findings: tuple[Finding, ...]
    elsewhere: tuple[tuple[int, str], ...]

    @property
    def hits(self) -> tuple[str, ...]:
        """The codes found on accepted rows."""
        return tuple(finding.code for finding in self.findings)


def false_alarms(lint: Linter, program: Program) -> list[FalseAlarm]:
    """Every finding that speaks against a right program."""
    return [
        FalseAlarm(file, finding.span.start.row, finding.code, finding.message)
        for file, findings in _lint_all(lint, program.files, sorted(program.files)).items()
        for finding in findings
        if finding.severity != "info"
    ]


def catches(lint: Linter, program: Program) -> list[Catch]:
    """What the linter says of each mutated file that it does not say of the original.

    Information counts where the defect is merely fragile; two findings are the same if they have the same
    code and the same line of source.
    """
    found = _lint_all(lint, program.files, sorted({mutation.file for mutation in program.mutations}))
    before = {file: _keys(program.files[file], findings) for file, findings in found.items()}
    return [_catch(lint, mutate(program, mutation), before[mutation.file]) for mutation in program.mutations]


def _catch(lint: Linter, mutant: Mutant, before: set[tuple[str, str]]) -> Catch:
    file = mutant.mutation.file
    text = mutant.files[file]
    hits: list[Finding] = []
    elsewhere: list[tuple[int, str]] = []
    for finding in _lint_all(lint, mutant.files, [file])[file]:
        counts = finding.severity != "info" or mutant.mutation.effect == "fragile"
        if not counts or _key(text, finding) in before:
            continue
        if mutant.accepted & set(_rows(finding)):
            hits.append(finding)
        else:
            elsewhere.append((finding.span.start.row, finding.code))
    return Catch(mutant, tuple(hits), tuple(elsewhere))


def _lint_all(lint: Linter, files: dict[str, str], wanted: list[str]) -> dict[str, Sequence[Finding]]:
    """Lint the files where they would stand, so that a package finds its own modules."""
    with tempfile.TemporaryDirectory(prefix="corpus-") as folder:
        for name, text in files.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return {name: lint(Path(folder), Path(folder, name)) for name in wanted}


def _rows(finding: Finding) -> range:
    return range(finding.span.start.row, max(finding.span.start, finding.span.end).row + 1)


def _keys(text: str, findings: Sequence[Finding]) -> set[tuple[str, str]]:
    return {_key(text, finding) for finding in findings}


def _key(text: str, finding: Finding) -> tuple[str, str]:
    return finding.code, text.splitlines()[finding.span.start.row - 1].strip()
