"""Pages that show a session: what gradlint prints is put there by the tool, and what torch prints is what it prints."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tools.make_docs import SESSIONS
from tools.transcripts import changed, filled, played

PAGES = pytest.mark.parametrize("page", SESSIONS, ids=lambda path: path.parent.name)
_PYTHON = re.compile(r"^\$ python train\.py\n((?:(?!\$ |```).+\n)+)", re.MULTILINE)
_NUMBER = re.compile(r"\d+\.\d\d")
NEAR = 0.05
"""How much two machines may differ in an accuracy or a loss."""
APART = 1.0
"""The same where gradients are never cleared: the sums grow, and rounding decides."""


@PAGES
def test_a_page_shows_what_the_tool_prints(page: Path) -> None:
    """`python tools/make_docs.py` writes it."""
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text


@PAGES
def test_each_step_repairs_a_finding(page: Path) -> None:
    """Seven changes, and nothing is found in the end."""
    text = page.read_text(encoding="utf-8")
    assert len(re.findall(r"^```diff$", text, re.MULTILINE)) == 7
    assert "No findings: 1 file checked" in text


def test_torch_prints_what_the_page_says() -> None:
    """Text for text, numbers nearly; of the traceback the page has the last line."""
    if importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed, and the page shows what it prints")
    parts = played(SESSIONS[0].read_text(encoding="utf-8"))
    shown = [(match[1], program) for part, program in parts for match in _PYTHON.finditer(part)]
    assert len(shown) == 4
    for said, program in shown:
        run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
        printed = run.stdout or run.stderr.splitlines()[-1]
        assert printed.startswith(said.strip()) or _NUMBER.sub("", printed) == _NUMBER.sub("", said)
        wanted, got = ([float(one) for one in _NUMBER.findall(text)] for text in (said, printed))
        near = NEAR if "zero_grad" in program else APART
        assert got[: len(wanted)] == pytest.approx(wanted, abs=near)


def test_a_change_applies_to_lines_that_occur_once() -> None:
    """Else the page would not say which it means."""
    assert changed("a\nb\nc\n", " a\n-b\n+d\n") == "a\nd\nc\n"
    with pytest.raises(AssertionError, match="occur 2 times"):
        changed("b\nb\n", "-b\n")


def test_commands_are_run_in_order_on_the_program_as_it_is() -> None:
    """A file, a finding, a change, none."""
    page = """\
```python title="a.py"
import torch
w = torch.ones(3, requires_grad=True)
w += 1
```
```console
$ gradlint check --quiet a.py
stale
$ python a.py
kept
```
```diff
-w += 1
+w = w + 1
```
```console
$ gradlint check --quiet a.py
stale
```
"""
    text = filled(page)
    assert "a.py:3:1: error: GRD101 leaf-inplace" in text
    assert "stale" not in text
    assert "$ python a.py\nkept\n" in text
    assert text.endswith("```console\n$ gradlint check --quiet a.py\n```\n")
