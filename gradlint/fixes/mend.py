"""Mend a text: make the fixes of its findings, check it again, and so on until nothing changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

from gradlint.domain.finding import Finding
from gradlint.fixes.edits import apply
from gradlint.outcome import Mended
from gradlint.source.parse import parse
from gradlint.source.unusable import Unusable

ROUNDS = 30
"""How often fixes may make room for others; fixes that undo each other end here, and are reported."""


class HasFindings(Protocol):
    """What a check of a text comes to."""

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What is left to say."""


Result = TypeVar("Result", bound=HasFindings)


def mend(
    text: str, checked: Result, check: Callable[[str], Result], wanted: Callable[[Finding], bool]
) -> tuple[Result, Mended]:
    """The text with all wanted fixes, and what a check of it comes to.

    `checked` is what a check of the text came to. A fix after which the text would not parse is not made, and its
    rule makes no more of them here.
    """
    made: Counter[tuple[str, str]] = Counter()
    broken: set[str] = set()
    now, settled = text, False
    for _ in range(ROUNDS):
        found = [finding for finding in checked.findings if wanted(finding) and finding.code not in broken]
        if not found:
            settled = True
            break
        new, applied = apply(now, found)
        if isinstance(parse(new), Unusable):
            broken |= _culprits(now, found)
            continue
        made.update((finding.code, finding.name) for finding in applied)
        now, checked = new, check(new)
    return checked, Mended(text, now, dict(made), tuple(sorted(broken)), settled)


def _culprits(text: str, found: Sequence[Finding]) -> set[str]:
    """The codes whose fixes break the text, each tried alone; all of them, where only the mixture does."""
    alone = {finding.code for finding in found if isinstance(parse(apply(text, [finding])[0]), Unusable)}
    return alone or {finding.code for finding in found}
