"""Messages are for people alone: worded otherwise, they change no finding, no fix, and no verdict of torch."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from gradlint.check import check_source
from gradlint.checker import Checker
from gradlint.confirm.check.error import Claim
from gradlint.confirm.check.evidence import is_local, measure_of, obstacle, pattern_of, slips_of
from gradlint.confirm.prove import Prover
from gradlint.domain.finding import Assumed, Finding, Fix, Related
from gradlint.outcome import Mended
from gradlint.rules.base import Repair, Report, Rule
from gradlint.rules.registry import all_rules
from gradlint.settings.config import Config
from gradlint.settings.selection import ALL, Selection
from tests.rules.examples import bad_of

WORDS = "the same in other words"
WORDED: dict[type, tuple[str, ...]] = {
    Report: ("message", "hint"),
    Repair: ("message",),
    Finding: ("message", "hint"),
    Related: ("message",),
    Fix: ("message",),
    Assumed: ("text",),
}
"""What carries the words of any rule to the reader, and the fields in which they stand."""

EVERYTHING = Config(selections=(Selection(extend_select=(ALL,)),))
PATTERNS = {rule.code: rule.error for rule in all_rules() if rule.error is not None}

every_rule = pytest.mark.parametrize("rule", all_rules(), ids=lambda rule: rule.code)


@contextmanager
def in_other_words() -> Iterator[None]:
    """Every message, label, hint and assumption is the same sentence, whichever rule says it."""
    with pytest.MonkeyPatch.context() as patch:
        for kind, names in WORDED.items():
            patch.setattr(kind, "__init__", _worded(kind, names))
        yield


def _worded(kind: type, names: tuple[str, ...]) -> object:
    make = kind.__init__  # type: ignore[misc]

    def worded(self: object, *given: object, **named: object) -> None:
        make(self, *given, **named)
        for name in names:
            if getattr(self, name):
                object.__setattr__(self, name, WORDS)

    return worded


@every_rule
def test_findings_and_fixes_are_the_same(rule: Rule) -> None:
    """In each bad example: their places, severities and evidence, and the program that the fixes leave."""
    for bad in bad_of(rule).values():
        plain, worded = _found(bad.code), _found_in_other_words(bad.code)
        assert {finding.message for finding in worded} <= {WORDS}
        assert [*map(_data, worded)] == [*map(_data, plain)]
        mended = _mended(bad.code)
        with in_other_words():
            assert _left(_mended(bad.code)) == _left(mended)


@every_rule
def test_verdicts_are_the_same(quick_prover: Prover, rule: Rule) -> None:
    """What would confirm the findings of all examples, and what torch says of the first that can be executed."""
    executed = False
    for bad in bad_of(rule).values():
        both = _found(bad.code), _found_in_other_words(bad.code)
        plain, worded = ([one for one in found if one.code == rule.code] for found in both)
        assert [*map(_asked, worded)] == [*map(_asked, plain)]
        if not executed and plain and obstacle(rule.name, plain[0].effect) is None:
            verdicts = [quick_prover.confirm(found[0], bad.code) for found in (plain, worded)]
            assert len({(one.verdict, one.reason, one.error, one.repro) for one in verdicts}) == 1
            executed = True


def _found(code: str) -> tuple[Finding, ...]:
    return check_source(code, config=EVERYTHING)


def _found_in_other_words(code: str) -> tuple[Finding, ...]:
    with in_other_words():
        return _found(code)


def _mended(code: str) -> Mended | None:
    """What all fixes together leave."""
    return Checker(wanted=lambda *_: True).check_content(code, "bad.py", EVERYTHING).mended


def _left(mended: Mended | None) -> object:
    """What the fixes have left, and all but the words of what was found before."""
    if mended is None:
        return None
    return mended.before, mended.after, mended.made, mended.broken, mended.settled, [*map(_data, mended.found)]


def _data(finding: Finding) -> tuple[object, ...]:
    """All of a finding but its words."""
    fix = None if finding.fix is None else (finding.fix.edits, finding.fix.safe)
    assumed = [(one.kind, one.place.span) for one in finding.assumptions]
    related = [(one.span, one.filename) for one in finding.related]
    where = (finding.filename, finding.span, finding.lines)
    return (
        *finding.claim,
        finding.name,
        finding.severity,
        finding.effect,
        where,
        related,
        fix,
        assumed,
        finding.evidence,
    )


def _asked(finding: Finding) -> tuple[object, ...]:
    """All that confirmation asks of a finding."""
    measure, pattern = measure_of(finding), pattern_of(finding, PATTERNS)
    watched = None if measure is None else measure.places(finding)
    return measure, watched, pattern, Claim.of(finding, pattern), slips_of(finding), is_local(finding)
