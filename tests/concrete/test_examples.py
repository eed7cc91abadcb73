"""The examples of the rules, run under the concrete machine: good ones are silent, bad ones are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint.concrete.start import Ended
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from tests.concrete.running import codes_at, watched

RULES = {rule.code: rule for rule in all_rules()}

SEEN = [
    f"GRD{number}"
    for number in (
        *(101, 102, 103, 104, 105, 106, 107, 108, 113),
        *(201, 203, 204, 205, 206, 207, 212, 213, 214),
        *(302, 303, 304, 305, 306, 307, 308, 309),
        *(401, 402, 403, 404, 405, 406, 408, 409),
        *(501, 502, 503, 504, 506, 507, 510, 511, 512, 514, 516, 517, 518, 519, 520, 521, 522, 523),
        *(605, 606, 607, 608, 609, 610, 611, 614, 622, 625, 628),
        *(701, 702),
    )
]
"""The rules whose bad example the machine sees itself, without a check of the file."""


@pytest.mark.parametrize("rule", [rule for rule in RULES.values() if rule.good], ids=lambda rule: rule.code)
def test_good_examples_are_silent(rule: Rule, tmp_path: Path) -> None:
    """And the machine watches to the end."""
    found = watched(rule.good or "", tmp_path)
    assert found.findings == () and found.complaints == []


@pytest.mark.parametrize("code", SEEN)
def test_bad_examples_are_found(code: str, tmp_path: Path) -> None:
    """At the line that is marked, and nothing else there."""
    bad = RULES[code].bad or ""
    found = watched(bad, tmp_path)
    marked = {(code, row) for row, line in enumerate(bad.splitlines(), 1) if f"# {code}" in line}
    assert marked <= codes_at(found)
    assert found.complaints == []


def test_how_a_program_has_ended_is_a_value() -> None:
    """Its exit code, and nothing raised."""
    assert Ended(0) == (0, None)


@pytest.mark.parametrize("code", ["GRD623", "GRD630", "GRD631", "GRD632", "GRD633"])
def test_a_refused_function_is_explained(code: str, tmp_path: Path) -> None:
    """By a check of the file: torch names the function, or it is applied where torch raises."""
    bad = RULES[code].bad or ""
    rows = {(code, row) for row, line in enumerate(bad.splitlines(), 1) if f"# {code}" in line}
    assert rows and rows <= codes_at(watched(bad, tmp_path, explain=True))
