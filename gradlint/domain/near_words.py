"""Words that are spelled almost like another: what may have been meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence


def near_words(word: str, known: Iterable[str], most: int = 1) -> list[str]:
    """Return the known words that are spelled almost like a word, the closest first."""
    return difflib.get_close_matches(word, list(known), n=most, cutoff=0.75)


def did_you_mean(near: Sequence[str]) -> str:
    """Return the end of a line that offers words."""
    return f"; did you mean {' or '.join(f'`{one}`' for one in near)}?" if near else ""
