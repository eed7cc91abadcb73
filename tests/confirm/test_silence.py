"""Silent effects put before torch: the examples that claim one show it, and right programs do not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

import pytest

from gradlint.check import check_source
from gradlint.confirm.measure import MEASURES
from gradlint.confirm.prove import Prover
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding, Position, Related, Span
from gradlint.rules.base import Rule
from gradlint.rules.registry import all_rules
from tests.harness.torch_run import run_under_torch

MEASURED = tuple(rule for rule in all_rules() if rule.name in MEASURES)
SILENT = {
    f"{rule.code}-bad-{number}": (bad.code, finding)
    for rule in MEASURED
    for number, bad in enumerate(rule.bad, 1)
    for finding in check_source(bad.code)
    if finding.effect != "raises" and finding.code == rule.code
}
WISHED = {"GRD306-good-2", "GRD307-good-2"}
"""No gradient arrives at a leaf behind the loss, as the author wishes: no execution tells a wish from an accident."""

GOOD = {
    f"{rule.code}-good-{number}": (rule, good.code)
    for rule in MEASURED
    for number, good in enumerate(rule.good, 1)
    if f"{rule.code}-good-{number}" not in WISHED
}


@pytest.fixture(scope="module")
def asked(prover: Prover) -> dict[str, Confirmation]:
    """The verdict on each bad example."""
    return {name: prover.confirm(finding, code) for name, (code, finding) in SILENT.items()}


def test_each_measure_has_its_rule() -> None:
    """A rule that is renamed takes its measure along."""
    assert {rule.name for rule in MEASURED} == set(MEASURES)


def test_silent_examples_are_confirmed(asked: dict[str, Confirmation]) -> None:
    """All but a few, and none is refuted."""
    left = {name: verdict.reason for name, verdict in asked.items() if verdict.verdict != "confirmed"}
    assert len(left) <= 0.05 * len(asked), left
    assert all(asked[name].verdict == "unconfirmed" for name in left)


def test_the_repro_shows_the_effect_by_itself(asked: dict[str, Confirmation]) -> None:
    """Its last statement fails where there is no sandbox; where nothing can fail, it runs."""
    for verdict in asked.values():
        if verdict.verdict == "confirmed":
            assert verdict.repro is not None
            raised = run_under_torch(verdict.repro).raised
            last = verdict.repro.splitlines()[-1]
            fails = last.startswith("assert ") or "set_detect_anomaly" in verdict.repro
            assert (raised is not None) == fails, verdict.repro
            if raised is not None and last.startswith("assert "):
                assert (raised.type, raised.line) == ("AssertionError", verdict.repro.count("\n"))


@pytest.mark.parametrize(("rule", "code"), GOOD.values(), ids=GOOD.keys())
def test_nothing_forced_on_a_good_example_is_measured(prover: Prover, rule: Rule, code: str) -> None:
    """A finding of the rule on each line, with each leaf in turn as the lost one."""
    verdicts = {prover.confirm(finding, code).verdict for finding in _forced(rule, code)}
    assert "confirmed" not in verdicts


def _forced(rule: Rule, code: str) -> Iterator[Finding]:
    tree = ast.parse(code)
    statements = [node for node in ast.walk(tree) if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr))]
    watches = MEASURES[rule.name].watches
    if watches == "leaf":
        makers = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _makes_leaf(node)]
        for maker in makers:
            yield _finding(rule, _span(statements[-1]), (Related(_span(maker), "this leaf is lost"),))
    elif watches == "own":
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute) and node.attr == "grad"]
        yield from (_finding(rule, _span(node), ()) for node in nodes)
    else:
        yield from (_finding(rule, _span(node), ()) for node in statements)


def _makes_leaf(node: ast.Call) -> bool:
    text = ast.unparse(node)
    return "requires_grad=True" in text or ast.unparse(node.func).rpartition(".")[2] in ("Linear", "Parameter")


def _span(node: ast.expr | ast.stmt) -> Span:
    end = Position(node.end_lineno or 0, (node.end_col_offset or 0) + 1)
    return Span(Position(node.lineno, node.col_offset + 1), end)


def _finding(rule: Rule, span: Span, related: tuple[Related, ...]) -> Finding:
    rows = (span.start.row, span.end.row)
    return Finding(rule.code, rule.name, "forced", "error", "silent", "good.py", span, rows, related=related)
