"""`gradlint rule`."""

from __future__ import annotations

import json

from gradlint.report.address import page_address
from tests.entrypoints.conftest import Run
from tests.entrypoints.fakes import FAKE_RULES

LEAF_INPLACE = {
    "code": "GRD101",
    "name": "leaf-inplace",
    "summary": "A leaf is written in place.",
    "explanation": "\n## What torch does\n\nit raises.\n\n## References\n\nsee https://example.org/leaf-inplace.html.",
    "effect": "raises",
    "severity": "error",
    "fixable": False,
    "fix": None,
    "default": True,
    "preview": False,
    "bad": [],
    "good": [],
    "url": page_address("GRD101", "leaf-inplace"),
    "references": ["https://example.org/leaf-inplace.html"],
}


def test_a_page(run: Run) -> None:
    """By code or by name."""
    expected = [
        *(
            "# GRD101 leaf-inplace",
            "",
            "Effect: raises; severity: error.",
            "",
            "A leaf is written in place.",
            "",
        ),
        *(
            "## What torch does",
            "",
            "it raises.",
            "",
            "## References",
            "",
            "see https://example.org/leaf-inplace.html.",
        ),
    ]
    assert run("rule", "GRD101").out == expected
    assert run("rule", "leaf-inplace").out == expected
    assert run("rule", "GRD801").out[2] == "Effect: legacy; severity: info; off unless selected."


def test_data(run: Run) -> None:
    """An object for one rule, a list for all or for a prefix."""
    assert json.loads("\n".join(run("rule", "GRD101", "--output-format", "json").out)) == LEAF_INPLACE
    every = json.loads("\n".join(run("rule", "--all", "--output-format", "json").out))
    assert [rule["code"] for rule in every] == [rule.code for rule in FAKE_RULES]
    some = json.loads("\n".join(run("rule", "GRD1", "--output-format", "json").out))
    assert [rule["code"] for rule in some] == ["GRD101", "GRD102", "GRD103"]


def test_bad_usage(run: Run) -> None:
    """One line, exit 2."""
    unknown = run("rule", "GRD102x")
    assert (unknown.code, unknown.out) == (2, [])
    assert unknown.err == [
        "gradlint: error: gradlint rule: `GRD102x` is not the code, the prefix of a code, or the name of a rule; "
        "did you mean `GRD102`?"
    ]
    assert run("rule").code == 2
    assert run("rule", "GRD101", "--all").code == 2
