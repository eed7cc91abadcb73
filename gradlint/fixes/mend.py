"""Mend a text: make the fixes of its findings, check it again, and so on until nothing changes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from gradlint.domain.finding import Finding
from gradlint.fixes.edits import Moves, Text, apply
from gradlint.outcome import Checked, Mended
from gradlint.source.parse import parse
from gradlint.source.read import Unusable, split_lines

ROUNDS = 30
"""How often fixes may make room for others; fixes that undo each other end here, and are reported."""


def mend(
    text: str, checked: Checked, check: Callable[[str], Checked], wanted: Callable[[Finding, str], bool]
) -> tuple[Checked, Mended]:
    """Return what a check of the text with all wanted fixes comes to, and the text; `wanted` gets it as it stands.

    `checked` is what a check of the text came to. A fix after which the text would not parse, or after which the
    same is found in the same place, is not made, and its rule makes no more of them here.
    """
    made: Counter[tuple[str, str]] = Counter()
    broken: set[str] = set()
    now, settled = text, False
    for _ in range(ROUNDS):
        found = [finding for finding in checked.findings if finding.code not in broken and wanted(finding, now)]
        if not found:
            settled = True
            break
        new, applied = _applied(now, found)
        after = check(new) if applied else checked
        useless = _useless(now, new, applied, after)
        if useless or not applied:
            broken |= useless or {finding.code for finding in found}
            continue
        made.update((finding.code, finding.name) for finding in applied)
        now, checked = new, after
    return checked, Mended(text, now, dict(made), tuple(sorted(broken)), settled)


def _applied(text: str, found: Sequence[Finding]) -> tuple[str, list[Finding]]:
    """Make as many fixes at once as leave a text that parses.

    Two that are right alone may be wrong together, as where each takes one of the two statements of a block away;
    then they are made one by one.
    """
    new, applied = apply(text, found)
    if not isinstance(parse(new), Unusable):
        return new, applied
    kept: list[Finding] = []
    for finding in applied:
        together, made = apply(text, [*kept, finding])
        if len(made) > len(kept) and not isinstance(parse(together), Unusable):
            kept.append(finding)
    return apply(text, kept)


def _useless(before: str, after: str, applied: Sequence[Finding], checked: Checked) -> set[str]:
    """Return the codes of the fixes after which the same is found again, in the same place."""
    text, moves = Text(after), Moves(before, applied)
    left = {(finding.claim, text.offset(finding.span.start)) for finding in checked.findings}
    return {
        finding.code for finding in applied if any((finding.claim, at) in left for at in moves.of(finding.span.start))
    }


def without_fix_on_other_rows(finding: Finding, text: str, parsed: str) -> Finding:
    """Return the finding without a fix that edits a row which the parser has not read as it stands in the text.

    libcst forgets a form feed in front of a statement, so that the columns after it are too small.
    """
    if finding.fix is None:
        return finding
    rows, read = split_lines(text), split_lines(parsed)
    edited = {row for edit in finding.fix.edits for row in range(edit.span.start.row, edit.span.end.row + 1)}
    same = len(rows) == len(read) and all(rows[row - 1] == read[row - 1] for row in edited if row <= len(rows))
    return finding if same else replace(finding, fix=None)
