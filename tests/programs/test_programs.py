"""Torch agrees with the corpus: every program runs clean, every mutant shows its defect."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from .corpus import Mutant, Program, load, mutants
from .execute import Worker, judge_mutant, judge_original, worker

PROGRAMS = load()


@pytest.fixture(scope="module")
def torch_worker() -> Iterator[Worker]:
    with worker() as started:
        yield started


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_original_runs_clean(torch_worker: Worker, program: Program) -> None:
    assert judge_original(torch_worker, program).fault is None


@pytest.mark.parametrize("mutant", mutants(PROGRAMS), ids=lambda mutant: mutant.name)
def test_mutant_shows_its_defect(torch_worker: Worker, mutant: Mutant) -> None:
    assert judge_mutant(torch_worker, mutant).fault is None


def count_lines(text: str) -> int:
    return len(text.splitlines())


def test_corpus_is_as_large_as_promised() -> None:
    assert len(PROGRAMS) >= 60
    assert all(len(program.mutations) >= 2 for program in PROGRAMS)


def test_programs_are_of_realistic_length() -> None:
    lengths = {program.name: sum(map(count_lines, program.files.values())) for program in PROGRAMS}
    assert {name: length for name, length in lengths.items() if not 30 <= length <= 170} == {}
