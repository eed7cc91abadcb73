"""Findings as text and data."""

from __future__ import annotations

import json

from gradlint.domain.finding import Edit, Finding, Fix, Position, Span
from gradlint.report.concise import concise
from gradlint.report.full import full
from gradlint.report.paint import Paint
from tests.harness.report import report_of, written

SPAN = Span(Position(2, 1), Position(2, 7))
FIX = Fix("write it under no_grad", (Edit(SPAN, "with"),), safe=False)
FINDING = Finding("GRD101", "leaf-inplace", "torch\nraises", "error", "raises", "a.py", SPAN, (2, 2), fix=FIX)


def never(finding: Finding) -> bool:
    """No fix is made."""
    return False


def always(finding: Finding) -> bool:
    """Each is."""
    return True


def test_concise_is_one_line_each() -> None:
    """Whatever the message holds; coloured if asked."""
    assert list(concise([FINDING], Paint(), never)) == ["a.py:2:1: error: GRD101 leaf-inplace: torch raises"]
    assert list(concise([FINDING], Paint(), always)) == ["a.py:2:1: error: GRD101 leaf-inplace [*]: torch raises"]
    assert list(concise([FINDING], Paint(True), never)) == [
        "\x1b[1ma.py\x1b[0m:2:1: \x1b[1;31merror:\x1b[0m \x1b[1mGRD101\x1b[0m leaf-inplace: torch raises"
    ]


def test_full_shows_the_fix() -> None:
    """And says when it is unsafe; a finding without text has no frame."""
    assert list(full([FINDING], {"a.py": "import torch\nw += 1\n"}, Paint(), never)) == [
        "error[GRD101] leaf-inplace: torch raises\n"
        " --> a.py:2:1\n"
        "  |\n"
        "2 | w += 1\n"
        "  | ^^^^^^\n"
        " = fix (unsafe: it changes values): write it under no_grad\n"
    ]
    assert next(full([FINDING], {}, Paint(), never)).splitlines()[1:3] == [
        " --> a.py:2:1",
        " = fix (unsafe: it changes values): write it under no_grad",
    ]


def test_json_has_the_edits_of_a_fix() -> None:
    """In ruff's words."""
    assert json.loads(written("json", report_of(FINDING)))[0]["fix"] == {
        "message": "write it under no_grad",
        "applicability": "unsafe",
        "edits": [
            {
                "content": "with",
                "cell": None,
                "location": {"row": 2, "column": 1},
                "end_location": {"row": 2, "column": 7},
            }
        ],
    }
