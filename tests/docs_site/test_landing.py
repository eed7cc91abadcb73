"""The ten lines of the landing page: gradlint reports the rule that is named, and torch does what is said."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.harness.lint import findings_of
from tests.harness.torch_run import run_under_torch

PAGE = Path(__file__).resolve().parents[2] / "docs" / "index.md"
_BEGINNING = re.compile(r"^```python\n(import torch\n.*?)^```$", re.MULTILINE | re.DOTALL)
_LINE = re.compile(
    r"^\*\*(\d+)\. (?P<said>(?:(?!```).)*?)\[(?P<code>GRD\d{3})\].*?```python\n(?P<line>.+?)\n```$", re.M | re.S
)

TEXT = PAGE.read_text(encoding="utf-8")
LINES = [(match["line"], match["code"], "torch raises" in match["said"]) for match in _LINE.finditer(TEXT)]
SHOWS = {
    "GRD306": "all(p.grad is None for p in net.parameters())",
    "GRD510": "total.requires_grad",
    "GRD206": "y.grad is None",
    "GRD702": "F.mse_loss(net(x)[:, :1], values, reduction='none').shape == (4, 4)",
    "GRD701": "net(x).softmax(1).log_softmax(1).amin() > -1.4",
}
"""What becomes of a fault that torch does not report."""


def test_there_are_ten() -> None:
    """The heading says so."""
    assert len(LINES) == 10


@pytest.mark.parametrize(("line", "code", "raises"), LINES, ids=[code for _, code, _ in LINES])
def test_a_line_is_reported_and_does_what_is_said(line: str, code: str, raises: bool) -> None:
    """Nothing else is reported, at no other line."""
    beginning = _BEGINNING.search(TEXT)
    assert beginning is not None
    program = f"{beginning[1]}{line}\n"
    assert findings_of(program) == ((len(program.splitlines()), code),)
    outcome = run_under_torch(program, None if raises else SHOWS.get(code))
    assert (outcome.raised is not None) is raises
    if not raises and code in SHOWS:
        assert outcome.shown is True
