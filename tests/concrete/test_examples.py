"""The examples of the rules, run under the concrete machine: good ones are silent, bad ones are found."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint.concrete.start import Ended
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from tests.concrete.running import codes_at, watched

RULES = {rule.code: rule for rule in all_rules()}

SEEN = (
    *("GRD101", "GRD102", "GRD103", "GRD104", "GRD106", "GRD107", "GRD108", "GRD201", "GRD204"),
    *("GRD205", "GRD207", "GRD212", "GRD213", "GRD214", "GRD302", "GRD303", "GRD304", "GRD305", "GRD306", "GRD307"),
    *(
        "GRD308",
        "GRD309",
        "GRD401",
        "GRD402",
        "GRD403",
        "GRD404",
        "GRD405",
        "GRD406",
        "GRD408",
        "GRD409",
        "GRD501",
        "GRD502",
        "GRD503",
        "GRD504",
        "GRD510",
        "GRD511",
        "GRD512",
    ),
    *("GRD514", "GRD516", "GRD517", "GRD518", "GRD519", "GRD520", "GRD522", "GRD605"),
    *("GRD606", "GRD608", "GRD611", "GRD614", "GRD701", "GRD702"),
)
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
