"""The examples of each rule: gradlint says exactly what is marked, and torch does what the rule claims.

A program of effect `raises` raises where it is marked; any other effect is shown by its `shows` expression.
"""

from __future__ import annotations

import pytest

from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from tests.harness.judge import finding_complaints, raise_complaints
from tests.harness.lint import findings_of
from tests.harness.marks import marks_of
from tests.harness.torch_run import run_under_torch
from tests.rules.examples import PAGES, Bad, Good, bad_of, good_of
from tests.rules.expectation import expected_raise

BAD = {name: (rule, bad) for rule in all_rules() for name, bad in bad_of(rule).items()}
# What a run alone sees is found by the concrete machine: tests/concrete/test_examples.py.
STATIC = {name: (rule, bad) for name, (rule, bad) in BAD.items() if not rule.run_only}
GOOD = {name: (rule, good) for rule in all_rules() for name, good in good_of(rule).items()}
# A file that cannot be used has no program to show: what the system refuses is not in the text.
TEACHING = tuple(rule for rule in all_rules() if rule.effect != "invalid")

every_rule = pytest.mark.parametrize("rule", TEACHING, ids=lambda rule: rule.code)
every_bad = pytest.mark.parametrize(("rule", "bad"), BAD.values(), ids=BAD.keys())
every_static = pytest.mark.parametrize(("rule", "bad"), STATIC.values(), ids=STATIC.keys())
every_good = pytest.mark.parametrize(("rule", "good"), GOOD.values(), ids=GOOD.keys())


@every_rule
def test_a_rule_teaches_by_both_kinds_of_example(rule: Rule) -> None:
    """One of each in the class; where more stand on a page, there are two of each at least."""
    assert rule.bad is not None and rule.good is not None
    assert len(bad_of(rule) | good_of(rule)) == 2 or len(bad_of(rule)) >= 2 <= len(good_of(rule))


def test_each_page_is_about_a_rule() -> None:
    """It has the name of the rule, and stands in the folder of its family."""
    pages = {page.relative_to(PAGES).with_suffix("").as_posix() for page in PAGES.rglob("*.md")}
    assert pages <= {f"{type(rule).__module__.split('.')[-2]}/{rule.name}" for rule in all_rules()}


@every_static
def test_gradlint_finds_exactly_the_marks_of_a_bad_example(rule: Rule, bad: Bad) -> None:
    """Each mark has its finding, nothing else is found, and the rule is among them."""
    marks = marks_of(bad.code)
    assert finding_complaints(marks, findings_of(bad.code, rule.code)) == []
    assert rule.code in {code for _, code in marks.findings}


@every_good
def test_gradlint_finds_nothing_in_a_good_example(rule: Rule, good: Good) -> None:
    """A good example is silent, under all rules, and has no marks."""
    marks = marks_of(good.code)
    assert not marks.findings
    assert finding_complaints(marks, findings_of(good.code, rule.code)) == []


@every_bad
def test_torch_shows_the_fault_of_a_bad_example(rule: Rule, bad: Bad) -> None:
    """Torch raises the claimed text at the claimed line, or the measure of the silent fault is true."""
    assert _claims_its_effect(rule, bad), "an error is stated by `error`, a silent fault is measured by `shows`"
    outcome = run_under_torch(bad.code, bad.shows)
    assert raise_complaints(expected_raise(bad), outcome) == []
    assert outcome.shown is (None if bad.shows is None else True)


@every_good
def test_torch_runs_a_good_example(rule: Rule, good: Good) -> None:
    """It runs through, and what it shows is true."""
    outcome = run_under_torch(good.code, good.shows)
    assert raise_complaints(None, outcome) == []
    assert outcome.shown is (None if good.shows is None else True)


def _claims_its_effect(rule: Rule, bad: Bad) -> bool:
    """Whether an example states what torch can be asked; that of a lesser effect may just run through."""
    if rule.effect in ("raises", "invalid"):
        return bad.error is not None
    return rule.effect != "silent" or bad.error is not None or bad.shows is not None
