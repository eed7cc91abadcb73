"""Texts checked as one file, for the laws of findings."""

from __future__ import annotations

from functools import cache

from gradlint.check import check_content
from gradlint.outcome import Checked
from gradlint.settings.config import Config
from tests.golden.corpus import ONLY_FILE


def is_python(text: str) -> bool:
    """Return whether Python compiles a text."""
    try:
        compile(text, ONLY_FILE, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


@cache
def checked(text: str) -> Checked:
    """The outcome of one file."""
    (one,) = check_content(text, ONLY_FILE, Config()).files
    assert one.crash is None
    return one
