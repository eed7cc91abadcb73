"""Fixes put before torch: the fault is gone behind them, and what the program computes is the same."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gradlint.check import check_source
from gradlint.confirm.prove import Prover
from gradlint.domain.finding import Edit, Finding, Fix, Position, Span
from gradlint.entrypoints.proving import healed

LEAF = """\
import torch

w = torch.ones(3, requires_grad=True)
scale = w.detach() * 2
w += 1
loss = (w * scale).sum()
loss.backward()
"""
"""In row 5 a leaf is written to."""

OVERFLOW = """\
import torch

x = torch.randn(4, requires_grad=True)
loss = torch.log(1 + torch.exp(x)).mean()
loss.backward()
"""


def finding_in(text: str, code: str) -> Finding:
    return next(finding for finding in check_source(text) if finding.code == code)


def with_fix(finding: Finding, *edits: tuple[int, int, int, str], safe: bool) -> Finding:
    """The finding with other edits: row, first column, column behind, text."""
    made = tuple(Edit(Span(Position(row, start), Position(row, end)), text) for row, start, end, text in edits)
    return replace(finding, fix=Fix("as said", made, safe))


@pytest.mark.parametrize(
    ("edits", "safe", "expected"),
    [
        pytest.param([(5, 1, 7, "w = w + 1")], True, True, id="same-values"),
        pytest.param([(5, 1, 7, "w = w + 1"), (4, 22, 23, "3")], True, False, id="another-value-before"),
        pytest.param([(5, 1, 7, "w = w + 1"), (4, 22, 23, "3")], False, True, id="values-may-change"),
        pytest.param([(5, 1, 7, "w -= 1")], True, False, id="still-raises"),
        pytest.param([(5, 1, 7, "w = unheard_of(w)")], True, False, id="not-what-was-run"),
        pytest.param([(1, 13, 13, "\nimport math"), (5, 1, 7, "w = w + 1")], True, True, id="one-row-further-down"),
    ],
)
def test_a_fix_of_an_error(prover: Prover, edits: list[tuple[int, int, int, str]], safe: bool, expected: bool) -> None:
    """The repro fails before it and runs behind it; a safe one leaves the values up to there as they were."""
    assert healed(prover, with_fix(finding_in(LEAF, "GRD101"), *edits, safe=safe), LEAF) is expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [("torch.nn.functional.softplus(x).mean()", True), ("torch.nn.functional.relu(x).mean()", False)],
)
def test_a_fix_of_what_only_may_go_wrong(prover: Prover, text: str, expected: bool) -> None:
    """Where the program worked, it computes the same."""
    finding = finding_in(OVERFLOW, "GRD407")
    assert healed(prover, with_fix(finding, (4, 8, 42, text), safe=True), OVERFLOW) is expected
