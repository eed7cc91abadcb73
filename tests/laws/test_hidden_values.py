"""A law of errors: what is not known adds none.

A value of a right program is put behind a function that is not known. It may be the identity, so that the program is as
right as before: an error would rest on a guess.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from tests.golden.corpus import Program, units_of
from tests.laws.checking import checked, is_python
from tests.laws.transformation import with_hidden

EVERY, OFFSETS = 12, (0, 5)
"""The law is tried on each program whose key leaves one of these remainders, at two places."""

KNOWN_GAP = {
    # An item beyond the known ones of a list that goes on is taken for the last of these.
    ("GRD101", "params += hidden([torch.ones(3)])"),
    # What an unknown function gives back is not taken for the scaler, or the network, that it was given.
    ("GRD505", "hidden(scaler).step(optimizer)"),
    ("GRD522", "hidden(net).eval()"),
    # A context that is not known may be one in which nothing is trained.
    ("GRD604", "with hidden(torch.no_grad()):"),
}
"""The errors in such programs, with the line in which a value is hidden."""


_LEFT_OUT = re.compile(r"# raises|\bhidden\b")
"""What keeps a program out: that it raises, and the name of the function behind which values are put."""


def right_programs() -> Iterator[tuple[int, str]]:
    """Programs of one file that raise nothing, with the numbers of their keys."""
    for group in ("examples", "pages"):
        for unit in units_of(group):
            number = int(unit.key, 16)
            if isinstance(unit, Program) and len(unit.files) == 1 and number % EVERY in OFFSETS:
                text = unit.files[0][1]
                if is_python(text) and not _LEFT_OUT.search(text) and not errors_in(text):
                    yield number, text


def errors_in(text: str) -> set[str]:
    """The rules that report an error."""
    return {finding.code for finding in checked(text).findings if finding.severity == "error"}


def test_a_value_that_is_hidden_adds_no_error() -> None:
    broken: set[tuple[str, str]] = set()
    judged = 0
    for number, text in right_programs():
        for position in (number // EVERY, number // EVERY // 7):
            hidden = with_hidden(text, position)
            if hidden is None or not is_python(hidden):
                continue
            judged += 1
            line = next(line for line in hidden.split("\n")[1:] if "hidden(" in line)
            broken |= {(code, line.strip()) for code in errors_in(hidden)}
    assert broken == KNOWN_GAP
    assert judged > 500
