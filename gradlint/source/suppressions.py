"""Comments that silence findings: `# noqa`, `# noqa: GRD101,GRD2`, and `# gradlint: noqa` for a file.

The reading is flake8's, so that one comment serves both: letter case does not matter, codes are prefixes, and
what follows `noqa` without being a list of codes makes the comment a bare one, which silences everything in
its statement."""

from __future__ import annotations

import re

from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.source.lines import split_lines

_CODES = r"(?::\s?(?P<codes>(?:[A-Z]+[0-9]+(?:[,\s]+)?)+))?"
_LINE = re.compile(rf"#\s*noqa\b{_CODES}", re.IGNORECASE)
_FILE = re.compile(rf"\s*#\s*gradlint[:=]\s*noqa\b{_CODES}", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+", re.IGNORECASE)
_SEPARATOR = re.compile(r"[,\s]+")


class Silence(Frozen):
    """Which codes one comment silences: those with one of the prefixes, or all if there are none."""

    prefixes: tuple[str, ...]

    def covers(self, code: str) -> bool:
        """Return whether a finding with this code is silenced."""
        return not self.prefixes or code.startswith(self.prefixes)


class Suppressions(Frozen):
    """All silencing comments of one file."""

    file: tuple[Silence, ...]
    rows: dict[int, Silence]

    @classmethod
    def read(cls, text: str) -> Suppressions:
        """Find the comments; a text without the word `noqa` costs one search."""
        if "noqa" not in text.lower():
            return cls((), {})
        lines = split_lines(text)
        file = tuple(_silence(found) for line in lines if (found := _FILE.match(line)))
        matches = ((row, _LINE.search(line)) for row, line in enumerate(lines, start=1))
        return cls(file, {row: _silence(found) for row, found in matches if found})

    def cover(self, finding: Finding) -> bool:
        """Return whether a comment silences the finding: one for the file, or one in any row of its statement."""
        if any(silence.covers(finding.code) for silence in self.file):
            return True
        first, last = finding.lines
        near = (silence for row, silence in self.rows.items() if first <= row <= last)
        return any(silence.covers(finding.code) for silence in near)


class Listed(Frozen):
    """One comment with a list of codes: its row, its stretch of the row, and each code with its own."""

    row: int
    start: int
    end: int
    codes: tuple[tuple[str, int, int], ...]
    whole_file: bool


def listed(text: str) -> list[Listed]:
    """Return the comments that list codes, with the places of the codes, in characters from the start of the row."""
    if "noqa" not in text.lower():
        return []
    found = []
    for row, line in enumerate(split_lines(text), start=1):
        of_file = _FILE.match(line)
        match = of_file or _LINE.search(line)
        if match and match["codes"]:
            offset = match.start("codes")
            codes = tuple(
                (word.group().upper(), offset + word.start(), offset + word.end())
                for word in _CODE.finditer(match["codes"])
            )
            start = match.start() + len(match.group()) - len(match.group().lstrip())
            found.append(Listed(row, start, match.end(), codes, of_file is not None))
    return found


def _silence(found: re.Match[str]) -> Silence:
    codes = found["codes"] or ""
    return Silence(tuple(code.upper() for code in _SEPARATOR.split(codes) if code))
