"""gradlint agrees with torch over programs that nobody wrote with gradlint in mind."""

from __future__ import annotations

import pytest

from .measure import measure
from .report import Score, render

SEEDS = range(40_000, 40_400)
RECALL = 0.95
"""The least share of failing programs whose mistake must be found."""

FALSE_ALARMS = 2
"""The most programs that run and yet are called wrong."""


@pytest.fixture(scope="module")
def score() -> Score:
    """gradlint and torch on the programs of `SEEDS`."""
    return measure(SEEDS, jobs=1)


def test_gradlint_never_crashes(score: Score) -> None:
    assert not score.crashed, render(score)


def test_mistakes_are_found(score: Score) -> None:
    assert score.recall() >= RECALL, render(score)


def test_running_programs_are_left_alone(score: Score) -> None:
    assert len(score.false_alarms) <= FALSE_ALARMS, render(score)
