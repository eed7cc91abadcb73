"""Small training programs: right ones are silent, and what a mistake does in them is found at its line."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradlint.concrete.schedule import Schedule
from tests.concrete.later_unseen import LATER_UNSEEN
from tests.concrete.mutants import MUTANTS, Mutant
from tests.concrete.running import Found, watched
from tests.concrete.unseen import UNSEEN

PROGRAMS = sorted((Path(__file__).parent / "programs").glob("*.py"))


def ran(text: str, folder: Path, *, explain: bool = False, schedule: Schedule | None = None) -> Found:
    """Run a program in a folder of its own."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        return watched(text, folder, explain=explain, schedule=schedule)
    finally:
        os.chdir(before)


@pytest.mark.parametrize("schedule", [None, Schedule(2, 5), Schedule(1, 2)], ids=["all", "2 of 5", "1 of 2"])
@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.stem)
def test_right_programs_are_silent(program: Path, schedule: Schedule | None, tmp_path: Path) -> None:
    """And the machine watches to the end, whatever it does not see between."""
    found = ran(program.read_text(encoding="utf-8"), tmp_path, schedule=schedule)
    assert found.findings == () and found.complaints == [] and found.error is None


@pytest.mark.parametrize("mutant", [*MUTANTS, *UNSEEN, *LATER_UNSEEN], ids=lambda one: f"{one.program}: {one.name}")
def test_mistakes_are_found(mutant: Mutant, tmp_path: Path) -> None:
    """By one of the codes that name it, at a line that a person would change."""
    text = (Path(__file__).parent / "programs" / f"{mutant.program}.py").read_text(encoding="utf-8")
    assert mutant.old in text
    text = text.replace(mutant.old, mutant.new, 1)
    rows = text.splitlines()
    found = ran(text, tmp_path, explain=True)
    lines = [
        "\n".join(rows[one.span.start.row - 1 : one.span.end.row])
        for one in found.findings
        if one.code in mutant.codes.split()
    ]
    hit = any(part in line for line in lines for part in mutant.at)
    assert hit is not mutant.missed and found.complaints == []
