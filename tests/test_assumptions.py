"""Assumptions: what a finding rests on is said, and no error rests on a guess."""

from __future__ import annotations

import json

from gradlint import check_source
from gradlint.report.as_json import as_json

GUESSED = """\
import torch


def train(model, optimizer, data):
    for x in data:
        loss = model(x).sum()
        loss.backward()
        optimizer.zero_grad()
        optimizer.step()
"""

DEFAULT = """\
import torch


def update(w=torch.ones(3, requires_grad=True), times=2):
    if times == 2:
        w.requires_grad_(True)
        w.mul_(2)
"""

CERTAIN = """\
import torch


def train(model, optimizer, rate=0.1):
    w = torch.ones(3, requires_grad=True)
    w += rate
    model(w).sum().backward()
    optimizer.step()
"""


def test_a_finding_that_rests_on_names_says_so_and_is_no_error() -> None:
    """Nobody in sight calls the function."""
    [finding] = check_source(GUESSED)
    assert (finding.code, finding.severity) == ("GRD502", "warning")
    assert [one.text for one in finding.assumptions] == [
        "`model` is a network, by its name",
        "`optimizer` is an optimizer, by its use",
    ]
    assert finding.assumptions[0].place.span.start.row == 4


def test_a_default_is_no_fact_where_nobody_in_sight_calls() -> None:
    """The finding is there because of the default, and says so."""
    findings = check_source(DEFAULT)
    assert {finding.severity for finding in findings} <= {"warning", "info"}


def test_a_finding_that_is_there_without_assumptions_rests_on_none() -> None:
    """The function has assumptions, and the write to a leaf needs none of them."""
    [finding] = [one for one in check_source(CERTAIN) if one.code == "GRD101"]
    assert finding.severity == "error"
    assert finding.assumptions == ()


def test_assumptions_stand_in_json() -> None:
    """By kind, text and place."""
    [entry] = json.loads(as_json(check_source(GUESSED, "a.py"), {}))
    assert entry["assumptions"][0] == {
        "kind": "name",
        "text": "`model` is a network, by its name",
        "location": {"row": 4, "column": 11},
    }
