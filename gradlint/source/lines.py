"""Rows of a text, as Python counts them: form feeds and Unicode separators end no line."""

from __future__ import annotations

import re

LINE_END = re.compile(r"\r\n|\r|\n")


def split_lines(text: str) -> list[str]:
    """Return the rows without their line ends; row `n` of a position is element `n - 1`."""
    return LINE_END.split(text)
