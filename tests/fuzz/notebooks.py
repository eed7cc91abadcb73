"""Notebooks that are odd or broken: cells of programs, magics, and JSON with a few letters changed."""

from __future__ import annotations

import json
import random

from gradlint.check import check_content
from gradlint.checker import Checker
from gradlint.settings.config import Config
from tests.fuzz.programs import swapped
from tests.harness.notebooks import notebook

_ROWS = (
    "%time x",
    "!ls \\",
    "x?",
    "%%time",
    "%%bash",
    "  x = 1",
    "y = !ls",
    "'''",
    "(",
    "pip install x",
    "\f",
    "\r",
    "é",
)


def odd_notebook(rng: random.Random) -> str:
    """Return a notebook whose cells are parts of a program of ours, with other rows between; half of them broken."""
    rows = swapped(rng).split("\n")
    for _ in range(rng.randrange(6)):
        rows.insert(rng.randrange(len(rows) + 1), rng.choice(_ROWS))
    cells = []
    while rows:
        size = rng.randint(1, 12)
        cells.append("\n".join(rows[:size]))
        rows = rows[size:]
    text = notebook(*cells)
    for _ in range(rng.choice((0, 0, 1, 3))):
        at = rng.randrange(len(text))
        text = (
            text[:at]
            + rng.choice(('"', "[", "}", ",", "\\", "\\ud800", "1", "null", ""))
            + text[at + rng.randrange(3) :]
        )
    return text


def crash_in_notebook(text: str) -> str | None:
    """Return what goes wrong when a notebook is checked and mended; the result must be JSON where it was."""
    checker = Checker(wanted=lambda finding, config, now: finding.fix is not None)
    outcome = check_content(text, "fuzzed.ipynb", Config(), checker)
    if outcome.crashes:
        return outcome.crashes[0].summary
    for mended in outcome.mended.values():
        json.loads(mended.after)
    return None
