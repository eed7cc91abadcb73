"""Apply the edits of several fixes to a text: in order, and never two to the same place."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right, insort
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate, pairwise

from gradlint.domain.finding import Edit, Finding, Fix, Position
from gradlint.source.read import LINE_END, split_lines

_HEADER = re.compile(r"with [^\r\n]*:[\r\n]+[ \t]*$")


@dataclass
class Text:
    """A text whose places can be counted in rows and columns, or in characters from its start."""

    text: str
    _starts: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Find the rows once."""
        self._starts = [0, *(found.end() for found in LINE_END.finditer(self.text))]

    def offset(self, position: Position) -> int:
        """Return the characters before a position."""
        return self._starts[position.row - 1] + position.column - 1

    def start_of_row(self, offset: int) -> int:
        """Return where the row of a character begins."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def stretch(self, edit: Edit) -> tuple[int, int]:
        """Return where an edit begins and ends."""
        return self.offset(edit.span.start), self.offset(edit.span.end)


def apply(text: str, findings: Sequence[Finding]) -> tuple[str, list[Finding]]:
    """Make as many of the fixes of these findings as do not overlap; the others have to wait for the next call."""
    source = Text(text)
    taken = _Taken()
    applied: list[Finding] = []
    for finding in sorted(findings, key=_first_edit):
        assert finding.fix is not None
        edits = {source.stretch(edit): edit.content for edit in finding.fix.edits}
        if taken.leave_free(edits):
            taken.take(edits)
            applied.append(finding)
    return _written(text, _joined(source, taken.edits)), applied


def moved(text: str, findings: Sequence[Finding], position: Position) -> range:
    """Return where a position may be with these fixes made, as `Moves` says."""
    return Moves(text, findings).of(position)


class Moves:
    """Where the places of a text are once some fixes, which leave each other alone, are made."""

    def __init__(self, text: str, findings: Sequence[Finding]) -> None:
        self._source = source = Text(text)
        edits = {source.stretch(edit): edit.content for one in findings if one.fix for edit in one.fix.edits}
        self._changes = sorted(_joined(source, edits).items())
        self._ends = [end for (_, end), _ in self._changes]
        grown = (len(new) - (end - start) for (start, end), new in self._changes)
        self._grown = list(accumulate(grown, initial=0))

    def of(self, position: Position) -> range:
        """Return where in the new text, in characters from its start, a position of the old one may be.

        That is one place, or all of the new text that has come in the place of what was there.
        """
        at = self._source.offset(position)
        index = bisect_right(self._ends, at)
        to = at + self._grown[index]
        if index < len(self._changes):
            (start, end), new = self._changes[index]
            if start <= at < end:
                return range(to - (at - start), to - (at - start) + len(new))
        return range(to, to + 1)


def _joined(source: Text, taken: dict[tuple[int, int], str]) -> dict[tuple[int, int], str]:
    """Statements that follow each other and go below the same header go below one."""
    wraps = sorted(stretch for stretch, content in taken.items() if _is_empty(stretch) and _HEADER.match(content))
    joined = dict(taken)
    for one, other in pairwise(wraps):
        if taken[one] == taken[other] and _follows(source.text, one[0], other[0], taken):
            begun = source.text[source.start_of_row(other[0]) : other[0]]
            joined[other] = _last_row(taken[other]).removeprefix(begun)
    return joined


def _last_row(text: str) -> str:
    return split_lines(text)[-1]


def _follows(text: str, one: int, other: int, taken: dict[tuple[int, int], str]) -> bool:
    """Return whether a statement that begins at one place ends in the row before the other, which begins the next.

    All rows between must be moved in as well: they belong to the first statement.
    """
    starts = [row.end() for row in LINE_END.finditer(text, one, other)]
    return all((start, start) in taken for start in starts[:-1]) and text[starts[-1] : other].strip() == ""


def _first_edit(finding: Finding) -> tuple[Position, str]:
    assert finding.fix is not None
    return min(edit.span.start for edit in finding.fix.edits), finding.code


class _Taken:
    """The edits of fixes that leave each other alone, and their stretches in order."""

    def __init__(self) -> None:
        self.edits: dict[tuple[int, int], str] = {}
        self._order: list[tuple[int, int]] = []
        self._longest = 0

    def take(self, edits: dict[tuple[int, int], str]) -> None:
        """Add the edits of a fix."""
        for stretch in edits.keys() - self.edits.keys():
            insort(self._order, stretch)
            self._longest = max(self._longest, stretch[1] - stretch[0])
        self.edits.update(edits)

    def leave_free(self, edits: dict[tuple[int, int], str]) -> bool:
        """Return whether no edit touches what another fix changes; an import that both add is added once."""
        return all(
            self.edits[stretch] == content if stretch in self.edits else not any(map(partial(_overlap, stretch), near))
            for stretch, content in edits.items()
            for near in (self._near(stretch),)
        )

    def _near(self, stretch: tuple[int, int]) -> list[tuple[int, int]]:
        """Return the stretches that may touch one."""
        first = bisect_left(self._order, (stretch[0] - self._longest, 0))
        return self._order[first : bisect_right(self._order, (stretch[1], math.inf))]


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    """Return whether two stretches share characters; an insertion at the edge of a replacement has no certain place."""
    return one[0] <= other[1] and other[0] <= one[1] and (_is_empty(one) or _is_empty(other) or _within(one, other))


def _within(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]


def _is_empty(stretch: tuple[int, int]) -> bool:
    return stretch[0] == stretch[1]


def _written(text: str, changes: dict[tuple[int, int], str]) -> str:
    pieces: list[str] = []
    at = 0
    for (start, end), content in sorted(changes.items()):
        pieces += [text[at:start], content]
        at = max(at, end)
    return "".join([*pieces, text[at:]])


def apart(source: Text, fix: Fix) -> bool:
    """Return whether the edits of one fix leave each other alone, so that it can be made at all."""
    stretches = sorted(source.stretch(edit) for edit in fix.edits)
    return not any(one == other or _within(one, other) for one, other in pairwise(stretches))
