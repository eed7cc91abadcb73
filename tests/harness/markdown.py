"""Specification pages: Markdown whose fenced `python` blocks are programs with marks."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from tests.harness.marks import Marks, marks_of

_FENCE = "```"
_HEADING = re.compile(r"(?P<level>#{1,6}) (?P<title>.+)")
_STATEMENT = re.compile(r"^# (?P<kind>error|shows): (?P<text>.+)\n", re.MULTILINE)
KNOWN_GAP = "Known gap"
NOT_REPORTED = "Not reported yet"
EXAMPLES = "More examples"


@dataclass(frozen=True)
class Block:
    """One program of a page. `line` is the row of its first line in the page, `headings` the way to it."""

    page: Path
    line: int
    headings: tuple[str, ...]
    code: str

    @property
    def is_known_gap(self) -> bool:
        """Whether the block shows an answer of gradlint that is wrong and known to be."""
        return KNOWN_GAP in self.headings

    @property
    def is_not_reported(self) -> bool:
        """Whether the block shows a fault that no rule reports yet."""
        return NOT_REPORTED in self.headings

    @property
    def is_example(self) -> bool:
        """Tell whether the block is an example of a rule: it is fixed and confirmed, as those of the class are."""
        return EXAMPLES in self.headings

    @property
    def marks(self) -> Marks:
        """What the comments of the block promise."""
        return marks_of(self.code)

    @property
    def program(self) -> str:
        """The code without the lines of their own that state what torch does."""
        return _STATEMENT.sub("", self.code).rstrip() + "\n"

    @property
    def shows(self) -> str | None:
        """The expression that is true when the program has run through, of a line `# shows: EXPRESSION`."""
        return self._stated("shows")

    @property
    def raises(self) -> tuple[int, str | None] | None:
        """Where torch raises, and the pattern of its text.

        A line `# error: PATTERN` may hold the pattern; the place is then the mark `# raises`, or the first finding.
        """
        marks, error = self.marks, self._stated("error")
        if error is None:
            return marks.raises
        line = marks.first_finding if marks.raises is None else marks.raises[0]
        if line is None or (marks.raises is not None and marks.raises[1] is not None):
            raise PageError(f"{self.page}:{self.line}: no place, or another text, for the error {error!r}")
        return line, error

    @property
    def name(self) -> str:
        """A short name for test reports: page, row, and the innermost heading."""
        return f"{self.page.name}:{self.line}:{self.headings[-1].lower().replace(' ', '-')}"

    def _stated(self, kind: str) -> str | None:
        found = (match["text"] for match in _STATEMENT.finditer(self.code) if match["kind"] == kind)
        return next(found, None)


class PageError(ValueError):
    """A page that cannot be read as a specification."""


def blocks_of(page: Path) -> tuple[Block, ...]:
    """The programs of one page, in order."""
    return tuple(_blocks(page, page.read_text(encoding="utf-8").splitlines()))


def blocks_under(folder: Path) -> tuple[Block, ...]:
    """The programs of all pages of a folder; a folder without any is a mistake of the caller."""
    blocks = tuple(block for page in sorted(folder.rglob("*.md")) for block in blocks_of(page))
    if not blocks:
        raise PageError(f"{folder}: no page holds a program")
    return blocks


def _blocks(page: Path, rows: list[str]) -> Iterable[Block]:
    headings: list[str] = []
    opened: int | None = None
    is_program = False
    for number, row in enumerate(rows, start=1):
        if row.startswith(_FENCE) and opened is None:
            opened, is_program = number, row == f"{_FENCE}python"
        elif row.startswith(_FENCE) and opened is not None:
            if is_program:
                yield _block(page, opened, number, headings, rows)
            opened = None
        elif opened is None and (match := _HEADING.fullmatch(row)):
            headings[len(match["level"]) - 1 :] = [match["title"]]
    if opened is not None:
        raise PageError(f"{page}:{opened}: the block has no end")


def _block(page: Path, opened: int, closed: int, headings: list[str], rows: list[str]) -> Block:
    if not headings:
        raise PageError(f"{page}:{opened}: a program needs a heading above it")
    code = "\n".join(rows[opened : closed - 1]) + "\n"
    return Block(page, opened + 1, tuple(headings), code)
