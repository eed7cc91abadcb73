"""Laws of findings over the programs of all pages and the written programs with their mutants.

They were written to have findings or to lack them. A law is tried on a part of them, chosen by the hash of the text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from gradlint.domain.finding import Finding
from tests.golden.corpus import Program, units_of
from tests.laws.checking import checked, is_python
from tests.laws.transformation import Changed, arms_swapped, renamed, with_dead_statements


class Law(NamedTuple):
    """A change of programs that leaves their findings as they are: all of them, or at least the errors.

    It is tried on each `every`th program of the pages and each `whole`th of the written ones, and can be on `least`.
    """

    change: Callable[[str], Changed | None]
    every: int
    whole: int
    least: int
    errors_only: bool = False


LAWS = {
    "the arms of a branch may change places": Law(arms_swapped, 1, 24, 120),
    "statements that touch no tensor may be added": Law(with_dead_statements, 12, 48, 180),
    "errors do not go by names": Law(renamed, 12, 48, 180, errors_only=True),
}

KNOWN_GAP = {
    "out of steps": "what comes behind the last step is not seen; an added statement takes steps",
    "paths dropped": "at most four paths go on side by side; which ones goes by the order of the arms",
    "calls too deep": "what is below the deepest call is not seen, and what is guessed from a name may call deeper",
}
"""Programs that are not followed to their end are left out: why a change may change findings there."""


def programs(law: Law) -> Iterator[str]:
    """The texts of programs that are one file, and Python."""
    for group, every in {"examples": law.every, "pages": law.every, "programs": law.whole}.items():
        for unit in units_of(group):
            if isinstance(unit, Program) and len(unit.files) == 1 and int(unit.key, 16) % every == 0:
                text = unit.files[0][1]
                if is_python(text):
                    yield text


@pytest.mark.parametrize("name", LAWS)
def test_a_change_leaves_findings_as_they_are(name: str) -> None:
    law = LAWS[name]
    broken: dict[str, object] = {}
    judged = 0
    for text in programs(law):
        changed = law.change(text)
        if changed is None or changed.text == text:
            continue
        before, after = checked(text), checked(changed.text)
        if KNOWN_GAP.keys() & (before.give_ups.keys() | after.give_ups.keys()):
            continue
        judged += 1
        expected = sorted((changed.lines[row], *said) for row, *said in counted(before.findings, law))
        actual = sorted(counted(after.findings, law))
        if expected != actual:
            broken[text] = expected, actual
    assert broken == {}
    assert judged > law.least


def counted(findings: tuple[Finding, ...], law: Law) -> list[tuple[int, str, str]]:
    """The rows, codes and severities of the findings that a law is about."""
    return [
        (one.span.start.row, one.code, one.severity)
        for one in findings
        if one.severity == "error" or not law.errors_only
    ]
