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
from tests.confirm.fresh import fault_of
from tests.harness.torch_run import run_under_torch

MEASURED = tuple(rule for rule in all_rules() if rule.name in MEASURES)
SILENT = {
    f"{rule.code}-bad-{number}": (bad.code, finding)
    for rule in MEASURED
    for number, bad in enumerate(rule.bad, 1)
    for finding in check_source(bad.code)
    if finding.effect != "raises" and finding.code == rule.code
}
LONGEST = 26
"""How many lines nine in ten of the repros have at most."""

WISHED = {
    # No gradient arrives at a leaf behind the loss.
    *("GRD306-good-2", "GRD307-good-2", "GRD307-good-4", "GRD309-good-4"),
    *("GRD214-good-2", "GRD214-good-3"),  # Gradients are constants in the loss.
    "GRD309-good-3",  # A copy is trained in the place of a network.
    "GRD517-good-2",  # A layer is frozen in evaluation mode.
    "GRD604-good-3",  # A network is hidden from the optimizer.
}
"""What is measured is what the author wishes: no execution tells a wish from an accident."""

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
    """It fails where there is no sandbox: in its last statement, if that asks for the effect."""
    for verdict in asked.values():
        if verdict.verdict == "confirmed":
            assert verdict.repro is not None
            raised = run_under_torch(verdict.repro).raised
            assert raised is not None, verdict.repro
            if verdict.repro.splitlines()[-1].startswith("assert "):
                assert (raised.type, raised.line) == ("AssertionError", verdict.repro.count("\n")), verdict.repro


@pytest.mark.parametrize("name", ["GRD105-bad-1", "GRD302-bad-2", "GRD405-bad-1", "GRD501-bad-1", "GRD608-bad-2"])
def test_a_repro_fails_in_a_fresh_python(asked: dict[str, Confirmation], name: str) -> None:
    """Written to a file and run by plain Python; `python -m tests.confirm.fresh` does so with all of them."""
    assert fault_of(asked[name]) is None


def test_repros_are_short(asked: dict[str, Confirmation]) -> None:
    """What is to be pasted somewhere stays in sight, the instruments included."""
    lengths = sorted(sum(map(bool, one.repro.splitlines())) for one in asked.values() if one.repro is not None)
    assert lengths[len(lengths) * 9 // 10] <= LONGEST, lengths


@pytest.mark.parametrize(("rule", "code"), GOOD.values(), ids=GOOD.keys())
def test_nothing_forced_on_a_good_example_is_measured(prover: Prover, rule: Rule, code: str) -> None:
    """Wherever the rule could have spoken, torch does not show what it would have said."""
    asked = [(finding, prover.confirm(finding, code)) for finding in _forced(rule, code)]
    assert [finding for finding, verdict in asked if verdict.verdict == "confirmed"] == []


def _forced(rule: Rule, code: str) -> Iterator[Finding]:
    """A finding at each place that looks like one of a bad example, with each that looks like what explains it."""
    places = _by_look(ast.parse(code))
    for own, message, explained in _looks(rule):
        for node in places.get(own, ()):
            related = [(words, other) for words, look in explained for other in places.get(look, ())]
            if not explained:
                yield _finding(rule, message, node, ())
            for words, other in related:
                yield _finding(rule, message, node, (Related(_span(other), words),))


def _looks(rule: Rule) -> Iterator[tuple[str, str, tuple[tuple[str, str], ...]]]:
    """How the places of the findings in bad examples look: each with its message and what explains it."""
    seen = set()
    for name, (code, finding) in SILENT.items():
        if name.startswith(f"{rule.code}-"):
            looks = {span: look for look, nodes in _by_look(ast.parse(code)).items() for span in map(_span, nodes)}
            related = tuple((one.message, looks.get(one.span, "")) for one in finding.related)
            seen.add((looks.get(finding.span, ""), finding.message, related))
    yield from sorted(seen)


def _by_look(tree: ast.Module) -> dict[str, list[ast.expr | ast.stmt]]:
    """The nodes of a program by what they look like: the kind of syntax, and the names that are called or read."""
    places: dict[str, list[ast.expr | ast.stmt]] = {}
    for above in ast.walk(tree):
        for node in ast.iter_child_nodes(above):
            if isinstance(node, (ast.expr, ast.stmt)):
                bare = isinstance(node, ast.Name)
                places.setdefault(f"{type(above).__name__} {_look(node)}" if bare else _look(node), []).append(node)
    return places


def _look(node: ast.AST | None) -> str:
    if isinstance(node, ast.Call):
        return f"{_look(node.func)}()"
    if isinstance(node, ast.Attribute):
        return f".{node.attr}"
    inner = _look(node.value) if isinstance(node, (ast.Assign, ast.AugAssign, ast.Expr, ast.Subscript)) else ""
    return f"{type(node).__name__} {inner}"


def _span(node: ast.expr | ast.stmt) -> Span:
    end = Position(node.end_lineno or 0, (node.end_col_offset or 0) + 1)
    return Span(Position(node.lineno, node.col_offset + 1), end)


def _finding(rule: Rule, message: str, node: ast.expr | ast.stmt, related: tuple[Related, ...]) -> Finding:
    span = _span(node)
    rows = (span.start.row, span.end.row)
    return Finding(rule.code, rule.name, message, "error", "silent", "good.py", span, rows, related=related)
