"""The generator: repeatable, well-typed, spread over every class, half of it failing."""

from __future__ import annotations

import ast
import hashlib
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from .classify import CLASSES
from .generate import generate
from .oracle import Outcome, run_all
from .scenarios import FAULTS, LEGAL

SEEDS = range(20_000, 20_700)

FINGERPRINT = (
    "import hashlib; from tests.torch_agrees.generate import generate; "
    "print(hashlib.sha256(''.join(generate(seed).source for seed in range(30)).encode()).hexdigest())"
)


@pytest.fixture(scope="module")
def outcomes() -> list[Outcome]:
    """What torch does with the programs of `SEEDS`."""
    return run_all([generate(seed).source for seed in SEEDS], jobs=1)


def test_a_seed_determines_the_text_in_any_process() -> None:
    here = hashlib.sha256("".join(generate(seed).source for seed in range(30)).encode()).hexdigest()
    for hash_seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", FINGERPRINT],
            cwd=Path(__file__).parents[2],
            env={"PYTHONHASHSEED": hash_seed},
            capture_output=True,
            text=True,
            check=True,
        )
        assert done.stdout.strip() == here


def test_every_class_has_faults_and_near_misses() -> None:
    assert set(CLASSES) == set(FAULTS)
    assert {*CLASSES, "training"} == set(LEGAL)


@pytest.mark.parametrize("seed", range(30_000, 30_100))
def test_every_program_is_python_of_a_size_people_read(seed: int) -> None:
    source = generate(seed).source
    ast.parse(source)
    assert 4 <= len(source.strip().split("\n")) <= 110


def test_almost_no_program_fails_for_other_reasons(outcomes: list[Outcome]) -> None:
    dropped = [outcome.message for outcome in outcomes if outcome.kind == "dropped"]
    assert len(dropped) <= 0.02 * len(outcomes), dropped


def test_about_half_of_the_programs_fail(outcomes: list[Outcome]) -> None:
    failing = sum(outcome.kind == "fails" for outcome in outcomes)
    assert 0.4 <= failing / len(outcomes) <= 0.6


def test_the_failing_programs_are_spread_over_every_class(outcomes: list[Outcome]) -> None:
    counts = Counter(outcome.error for outcome in outcomes if outcome.kind == "fails")
    assert set(counts) == set(CLASSES)
    assert min(counts.values()) >= 3


def test_every_failure_has_a_line_to_look_at(outcomes: list[Outcome]) -> None:
    for seed, outcome in zip(SEEDS, outcomes, strict=True):
        if outcome.kind == "fails":
            assert outcome.line is not None or outcome.culprits, seed
