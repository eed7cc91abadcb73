"""The examples of the rules put before torch: bad ones are confirmed, nothing forced on a good one is."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gradlint.check import check_source
from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding, Position, Span
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from tests.harness.torch_run import run_under_torch

LONGEST = 20
"""How many lines a repro may have that a person is to paste somewhere."""

RAISING = {
    f"{rule.code}-bad-{number}": (bad.code, finding)
    for rule in all_rules()
    for number, bad in enumerate(rule.bad, 1)
    if rule.effect != "invalid"
    for finding in check_source(bad.code)
    if finding.effect == "raises" and finding.code == rule.code
}
GOOD = {
    f"{rule.code}-good-{number}": (rule, good.code)
    for rule in all_rules()
    for number, good in enumerate(rule.good, 1)
    if rule.error is not None and rule.effect != "invalid"
}


@pytest.fixture(scope="module")
def asked(prover: Prover) -> dict[str, Confirmation]:
    """The verdict on each bad example."""
    return {name: prover.confirm(finding, code) for name, (code, finding) in RAISING.items()}


def test_bad_examples_are_confirmed(asked: dict[str, Confirmation]) -> None:
    """All but a few: the gate lets no attribute in that it does not know, as a misspelt one."""
    left = {name: verdict.reason for name, verdict in asked.items() if verdict.verdict != "confirmed"}
    assert len(left) <= 0.05 * len(asked), left
    assert all(asked[name].verdict == "unconfirmed" for name in left)


def test_the_error_is_the_same_without_a_sandbox(asked: dict[str, Confirmation]) -> None:
    """Each repro raises what torch is said to have raised, at the line marked, and is short."""
    for verdict in asked.values():
        if verdict.verdict == "confirmed":
            _check_repro(verdict)


def _check_repro(verdict: Confirmation) -> None:
    assert verdict.repro is not None and verdict.error is not None
    lines = verdict.repro.splitlines()
    assert sum(bool(line) for line in lines) <= LONGEST, verdict.repro
    raised = run_under_torch(verdict.repro).raised
    assert raised is not None, verdict.repro
    assert f"{raised.type}: {_words(raised.text)}" == _words(verdict.error)
    assert lines[(raised.line or 0) - 1].endswith(f"# {raised.type}")


@pytest.mark.parametrize(("rule", "code"), GOOD.values(), ids=GOOD.keys())
def test_nothing_forced_on_a_good_example_is_confirmed(prover: Prover, rule: Rule, code: str) -> None:
    """A finding of the rule on each line in turn: torch raises on none."""
    verdicts = {prover.confirm(finding, code).verdict for finding in _forced(rule, code)}
    assert "confirmed" not in verdicts


@pytest.mark.parametrize("name", ["GRD101-bad-1", "GRD103-bad-1", "GRD204-bad-1"])
def test_a_repro_fails_in_a_fresh_python(asked: dict[str, Confirmation], name: str, tmp_path: Path) -> None:
    """Written to a file and run by plain Python, as a reader would."""
    verdict = asked[name]
    assert verdict.repro is not None and verdict.error is not None
    file = tmp_path / "repro.py"
    file.write_text(verdict.repro, encoding="utf-8")
    ended = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert _words(verdict.error) in _words(ended.stderr)


def _forced(rule: Rule, code: str) -> Iterator[Finding]:
    for row, line in enumerate(code.splitlines(), 1):
        if line.strip() and not line.startswith(("import", "from", "#")):
            place = Position(row, 1)
            span = Span(place, Position(row, len(line)))
            yield Finding(rule.code, rule.name, "forced", "error", "raises", "good.py", span, (row, row))


def _words(text: str) -> str:
    """The text without addresses, which differ from run to run."""
    return " ".join(word for word in text.split() if "0x" not in word)
