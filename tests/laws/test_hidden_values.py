"""A law of errors: what is not known adds none.

A value of a right program is put behind a function that is not known. It may be the identity, so that the program is as
right as before: an error would rest on a guess.
"""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.check import check_content
from gradlint.settings.config import Config
from tests.golden.corpus import ONLY_FILE, Program, units_of
from tests.laws.transformation import with_hidden

EVERY, OFFSETS = 12, (0, 5)
"""The law is tried on each program whose key leaves one of these remainders, at two places."""

KNOWN_GAP = {
    "GRD101": "an item beyond the known ones of a list that goes on is taken for the last of these",
    "GRD505": "what an unknown function gives back is not taken for the scaler that it was given",
    "GRD522": "what an unknown function gives back is not taken for the network that it was given",
    "GRD604": "a context that is not known may be one in which nothing is trained",
}
"""Rules that report an error in such a program, and why."""


def right_programs() -> Iterator[tuple[int, str]]:
    """Programs of one file that raise nothing, with the numbers of their keys."""
    for group in ("examples", "pages"):
        for unit in units_of(group):
            number = int(unit.key, 16)
            if isinstance(unit, Program) and len(unit.files) == 1 and number % EVERY in OFFSETS:
                text = unit.files[0][1]
                if _is_python(text) and "# raises" not in text and not errors_in(text):
                    yield number, text


def _is_python(text: str) -> bool:
    try:
        compile(text, ONLY_FILE, "exec", dont_inherit=True)
    except SyntaxError:
        return False
    return True


def errors_in(text: str) -> set[str]:
    """The rules that report an error."""
    (one,) = check_content(text, ONLY_FILE, Config()).files
    assert one.crash is None
    return {finding.code for finding in one.findings if finding.severity == "error"}


def test_a_value_that_is_hidden_adds_no_error() -> None:
    broken: dict[str, set[str]] = {}
    judged = 0
    for number, text in right_programs():
        for position in (number // EVERY, number // EVERY // 7):
            hidden = with_hidden(text, position)
            if hidden is None or not _is_python(hidden):
                continue
            judged += 1
            errors = errors_in(hidden)
            if errors - KNOWN_GAP.keys():
                broken[hidden] = errors
    assert broken == {}
    assert judged > 500
