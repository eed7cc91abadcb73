"""The examples of the rules put before torch: bad ones are confirmed, nothing forced on a good one is."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from gradlint.confirm.check.evidence import obstacle
from gradlint.confirm.effects.table import MEASURES
from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Confirmation
from gradlint.rules.registry import all_rules
from tests.confirm.examples import Claim, found_in_bad
from tests.confirm.fresh import fault_of
from tests.confirm.shares import LEAST, forced_on, good_examples
from tests.harness.torch_run import run_under_torch

LONGEST = 20
"""How many lines a repro may have that a person is to paste somewhere: of an error all, of an effect nine in ten."""


class Answer(NamedTuple):
    """What torch says to a claim."""

    claim: Claim
    verdict: Confirmation

    @property
    def raises(self) -> bool:
        """Whether torch raised, and nothing was measured."""
        return self.verdict.error is not None

    @property
    def length(self) -> int:
        """The lines of the repro that are not empty."""
        return sum(map(bool, (self.verdict.repro or "").splitlines()))


@pytest.fixture(scope="module")
def asked(quick_prover: Prover) -> list[Answer]:
    """The verdict on each finding in a bad example."""
    return [Answer(claim, quick_prover.confirm(claim.finding, claim.code)) for claim in found_in_bad()]


@pytest.fixture(scope="module")
def confirmed(prover: Prover) -> list[Answer]:
    """The proofs of the first finding of each rule and effect, cut down; `tests.confirm.fresh` has all of them."""
    first = {(claim.rule.code, claim.finding.effect): claim for claim in reversed(found_in_bad())}
    asked = [Answer(claim, prover.confirm(claim.finding, claim.code)) for claim in first.values()]
    return [answer for answer in asked if answer.verdict.verdict == "confirmed"]


def test_each_measure_has_its_rule() -> None:
    """A rule that is renamed takes its measure along."""
    assert set(MEASURES) <= {rule.name for rule in all_rules()}


def test_each_rule_can_be_confirmed_or_says_why_not() -> None:
    """By a measure, or by an error of torch; where neither can be, there is a reason."""
    lost = [rule for rule in all_rules() if rule.error is None and rule.name not in MEASURES]
    assert [rule.code for rule in lost if obstacle(rule.name, rule.effect) is None] == []


def test_bad_examples_are_confirmed(asked: list[Answer]) -> None:
    """All but a few of the findings that a run could show, over all rules, and none is refuted."""
    left = {answer.claim.name: answer.verdict.reason for answer in asked if answer.verdict.verdict != "confirmed"}
    assert len(left) <= (1 - LEAST) * len(asked), left
    assert [answer.claim.name for answer in asked if answer.verdict.verdict == "refuted"] == []


def test_the_error_is_the_same_without_a_sandbox(asked: list[Answer], confirmed: list[Answer]) -> None:
    """Each repro raises what torch is said to have raised, at the line marked, as it was found and cut down."""
    for answer in [*asked, *confirmed]:
        if answer.raises and answer.verdict.repro is not None:
            _check_error(answer.verdict)


def _check_error(verdict: Confirmation) -> None:
    assert verdict.repro is not None and verdict.error is not None
    outcome = run_under_torch(verdict.repro)
    assert outcome.broken is None, verdict.repro
    raised = outcome.raised
    assert raised is not None, verdict.repro
    assert f"{raised.type}: {_words(raised.text)}" == _words(verdict.error)
    assert verdict.repro.splitlines()[(raised.line or 0) - 1].endswith(f"# {raised.type}")


def test_the_effect_is_shown_without_a_sandbox(asked: list[Answer], confirmed: list[Answer]) -> None:
    """It fails in its last statement, if that asks for the effect."""
    for answer in [*asked, *confirmed]:
        if not answer.raises and answer.verdict.repro is not None:
            _check_effect(answer.verdict)


def _check_effect(verdict: Confirmation) -> None:
    assert verdict.repro is not None
    outcome = run_under_torch(verdict.repro)
    assert outcome.broken is None, verdict.repro
    raised = outcome.raised
    assert raised is not None, verdict.repro
    if verdict.repro.splitlines()[-1].startswith("assert "):
        assert (raised.type, raised.line) == ("AssertionError", verdict.repro.count("\n")), verdict.repro


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
def test_a_repro_fails_in_a_fresh_python(asked: list[Answer], name: str) -> None:
    """Written to a file and run by plain Python; `python -m tests.confirm.fresh` does so with all of them."""
    answer = next(answer for answer in asked if answer.claim.name == name)
    assert fault_of(answer.verdict) is None


def test_repros_are_short(confirmed: list[Answer]) -> None:
    """What is to be pasted somewhere stays in sight, the instruments included."""
    assert [answer.verdict.repro for answer in confirmed if answer.raises and answer.length > LONGEST] == []
    measured = sorted(answer.length for answer in confirmed if not answer.raises)
    assert measured[len(measured) * 9 // 10] <= LONGEST, measured


@pytest.mark.parametrize("name", good_examples())
def test_nothing_forced_on_a_good_example_is_confirmed(quick_prover: Prover, name: str) -> None:
    """Wherever the rule could have spoken, torch does not show what it would have said."""
    asked = [(claim.finding, quick_prover.confirm(claim.finding, claim.code)) for claim in forced_on(name)]
    assert [finding for finding, verdict in asked if verdict.verdict == "confirmed"] == []


def _words(text: str) -> str:
    """The text without addresses, which differ from run to run."""
    return " ".join(word for word in text.split() if "0x" not in word)
