"""The fixes of each rule: what is mended is silent, runs under torch without the effect, and stays as it is."""

from __future__ import annotations

from functools import cache

import pytest

from gradlint.check import check_source
from gradlint.config import Config
from gradlint.domain.finding import Finding
from gradlint.fixes.mend import mend
from gradlint.outcome import Checked, Mended
from gradlint.rules.base import Bad, Rule
from gradlint.rules.registry import all_rules
from tests.harness.program import FILENAME
from tests.harness.torch_run import run_under_torch

FIXABLE = tuple(rule for rule in all_rules() if rule.fixable)
BAD = {f"{rule.code}-bad-{n}": (rule, bad) for rule in FIXABLE for n, bad in enumerate(rule.bad, 1)}

every_bad = pytest.mark.parametrize(("rule", "bad"), BAD.values(), ids=BAD.keys())


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_rule_is_fixable_if_it_mends_one_of_its_examples(rule: Rule) -> None:
    """Neither more nor less is promised."""
    assert rule.fixable == any(mended(rule, bad.code).made for bad in rule.bad)


@every_bad
def test_a_mended_example_is_silent_and_runs(rule: Rule, bad: Bad) -> None:
    """What the rule mends, it does not report again, and torch does not show the effect again."""
    fixed = mended(rule, bad.code)
    assert fixed.settled
    assert not fixed.broken
    if any(finding.fix is None for finding in reported(rule, bad.code)):
        return  # Another finding of the example has no fix, and may show the effect.
    assert reported(rule, fixed.after) == ()
    outcome = run_under_torch(fixed.after, bad.shows)
    assert outcome.raised is None
    assert outcome.shown is not True, "the effect is still there"


@every_bad
def test_a_second_application_changes_nothing(rule: Rule, bad: Bad) -> None:
    """Fixes settle."""
    once = mended(rule, bad.code).after
    assert mended(rule, once).after == once


@cache
def mended(rule: Rule, code: str) -> Mended:
    """All fixes of one rule."""
    checked = Checked(FILENAME, reported(rule, code))
    return mend(
        code, checked, lambda text: Checked(FILENAME, reported(rule, text)), lambda found: found.fix is not None
    )[1]


@cache
def reported(rule: Rule, code: str) -> tuple[Finding, ...]:
    """What one rule finds."""
    return tuple(finding for finding in check_source(code, FILENAME, Config()) if finding.code == rule.code)
