"""Findings as text and data."""

from __future__ import annotations

import io
import json

from gradlint.domain.finding import Edit, Finding, Fix, Position, Span
from gradlint.report.as_json import as_json
from gradlint.report.concise import concise
from gradlint.report.full import full
from gradlint.report.paint import Paint

SPAN = Span(Position(2, 1), Position(2, 7))
FIX = Fix("write it under no_grad", (Edit(SPAN, "with"),), safe=False)
FINDING = Finding("GRD101", "leaf-inplace", "torch\nraises", "error", "raises", "a.py", SPAN, (2, 2), fix=FIX)


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def never(finding: Finding) -> bool:
    """No fix is made."""
    return False


def always(finding: Finding) -> bool:
    """Each is."""
    return True


def test_concise_is_one_line_each() -> None:
    """Whatever the message holds; coloured if asked."""
    assert list(concise([FINDING], Paint(), never)) == ["a.py:2:1: GRD101 torch raises"]
    assert list(concise([FINDING], Paint(), always)) == ["a.py:2:1: GRD101 [*] torch raises"]
    assert list(concise([FINDING], Paint(True), never)) == [
        "\x1b[1ma.py\x1b[0m:2:1: \x1b[1;31mGRD101\x1b[0m torch raises"
    ]


def test_full_shows_the_fix() -> None:
    """And says when it is unsafe; a finding without text has no frame."""
    assert list(full([FINDING], {"a.py": "import torch\nw += 1\n"}, Paint(), never)) == [
        "GRD101 leaf-inplace: torch raises\n"
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
    assert json.loads(as_json([FINDING], {}))[0]["fix"] == {
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


def test_colour_is_for_terminals_that_want_it() -> None:
    """`NO_COLOR` is honoured if it is not empty."""
    assert Paint.for_stream(Terminal(), {}).enabled
    assert Paint.for_stream(Terminal(), {"NO_COLOR": ""}).enabled
    assert not Paint.for_stream(Terminal(), {"NO_COLOR": "1"}).enabled
    assert not Paint.for_stream(Terminal(), {"TERM": "dumb"}).enabled
    assert not Paint.for_stream(io.StringIO(), {}).enabled
