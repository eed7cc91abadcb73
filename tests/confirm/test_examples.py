"""The examples of the rules put before torch: bad ones are confirmed, nothing forced on a good one is."""

from __future__ import annotations

import pytest

from gradlint.confirm.check.evidence import MEASURES, obstacle
from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Confirmation
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from tests.confirm import exceptions
from tests.confirm.examples import BAD, GOOD, Claim, forced_on, found_in
from tests.confirm.fresh import fault_of
from tests.harness.torch_run import run_under_torch
from tests.rules.examples import bad_of

LONGEST = 20
"""How many lines a repro may have that a person is to paste somewhere."""


def test_each_measure_has_its_rule() -> None:
    """A rule that is renamed takes its measure along."""
    assert set(MEASURES) <= {rule.name for rule in all_rules()}


def test_each_rule_can_be_confirmed_or_says_why_not() -> None:
    """By a measure, or by an error of torch; where neither can be, there is a reason."""
    lost = [rule for rule in all_rules() if rule.error is None and rule.name not in MEASURES]
    assert [rule.code for rule in lost if obstacle(rule.name, rule.effect) is None] == []


def test_each_exception_is_an_example() -> None:
    """One that is renamed takes its exception along."""
    assert {place.rpartition(":")[0] for place in exceptions.BAD} <= BAD.keys()
    assert exceptions.GOOD.keys() <= GOOD.keys()


@pytest.mark.parametrize("name", BAD)
def test_a_bad_example_is_confirmed(quick_prover: Prover, name: str) -> None:
    """Each finding of its rule, but for those named as exceptions; the repro shows the same without a sandbox."""
    answers = {claim.place: quick_prover.confirm(claim.finding, claim.code) for claim in found_in(name)}
    excepted = {place: said for place, (said, _) in exceptions.BAD.items() if place.rpartition(":")[0] == name}
    assert len(answers) == len(found_in(name)) > 0
    assert {place: answer.verdict for place, answer in answers.items()} == dict.fromkeys(
        answers, "confirmed"
    ) | excepted
    for answer in answers.values():
        if answer.repro is not None:
            _check(answer)


@pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)
def test_a_repro_that_is_cut_down_is_short_and_fails(prover: Prover, rule: Rule) -> None:
    """That of the first finding of each effect; `tests.confirm.fresh` has all of them."""
    for claim in _firsts(rule):
        answer = prover.confirm(claim.finding, claim.code)
        if answer.repro is not None:
            _check(answer)
            length = sum(map(bool, answer.repro.splitlines()))
            assert length <= max(LONGEST, exceptions.LONG.get(claim.place, 0)), answer.repro


def _firsts(rule: Rule) -> list[Claim]:
    """The first finding of each effect in the bad examples of a rule."""
    claims = [claim for name in bad_of(rule) if name in BAD for claim in found_in(name)]
    return list({claim.finding.effect: claim for claim in reversed(claims)}.values())


def _check(answer: Confirmation) -> None:
    """Without a sandbox a repro raises what torch is said to have raised, at the line marked, or fails at its end."""
    assert answer.repro is not None
    outcome = run_under_torch(answer.repro)
    assert outcome.broken is None, answer.repro
    raised = outcome.raised
    assert raised is not None, answer.repro
    lines = answer.repro.splitlines()
    if answer.error is not None:
        assert _words(f"{raised.type}: {raised.text}") == _words(answer.error)
        assert lines[(raised.line or 0) - 1].endswith(f"# {raised.type}")
    elif lines[-1].startswith("assert "):
        assert (raised.type, raised.line) == ("AssertionError", len(lines)), answer.repro


def _words(text: str) -> str:
    """The text without addresses, which differ from run to run."""
    return " ".join(word for word in text.split() if "0x" not in word)


@pytest.mark.parametrize(
    "name",
    [
        "GRD101-bad-1",
        "GRD103-bad-1",
        "GRD105-bad-1",
        "GRD204-bad-1",
        "GRD302-bad-the-code-between-an-encoder-and-a-head",
        "GRD405-bad-1",
        "GRD501-bad-1",
        "GRD608-bad-an-optimizer-of-the-encoder-only",
    ],
)
def test_a_repro_fails_in_a_fresh_python(quick_prover: Prover, name: str) -> None:
    """Written to a file and run by plain Python; `python -m tests.confirm.fresh` does so with all of them."""
    claim = found_in(name)[0]
    assert fault_of(quick_prover.confirm(claim.finding, claim.code)) is None


@pytest.mark.parametrize("name", GOOD)
def test_nothing_forced_on_a_good_example_is_confirmed(quick_prover: Prover, name: str) -> None:
    """Wherever its rule could have spoken, torch does not show what it would have said, but for named exceptions."""
    answers = (quick_prover.confirm(claim.finding, claim.code) for claim in forced_on(name))
    assert any(answer.verdict == "confirmed" for answer in answers) == (name in exceptions.GOOD)
