"""Marks: comments at the end of a line that say what gradlint and torch do there."""

from __future__ import annotations

import ast
import contextlib
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

_CODES = re.compile(r"GRD\d{3}(\s*,\s*GRD\d{3})*")
_LATER = re.compile(r"later: (?P<name>[a-z0-9]+(-[a-z0-9]+)*)")


class MarkError(ValueError):
    """A comment begins like a mark and is none, or a program promises what cannot happen."""


@dataclass(frozen=True)
class Marks:
    """What the comments of one program promise, by line; lines count from 1.

    `findings` counts each expected code of each line. `raises` is the one place where torch raises, with the
    pattern of its text (None: any text): a program ends where it raises, so that there is never a second one.
    `revealed` holds the texts after `revealed:`. `later` names faults that no rule reports yet.
    """

    findings: Counter[tuple[int, str]]
    raises: tuple[int, str | None] | None
    revealed: dict[int, str]
    later: tuple[tuple[int, str], ...]

    @property
    def first_finding(self) -> int | None:
        """The first line with an expected finding."""
        return min((line for line, _ in self.findings), default=None)


def marks_of(code: str) -> Marks:
    """Read the marks of a program; a comment may hold several, each after its own `#`."""
    findings: Counter[tuple[int, str]] = Counter()
    raises: list[tuple[int, str | None]] = []
    revealed: dict[int, str] = {}
    later: list[tuple[int, str]] = []
    for line, segment in _segments(code):
        if segment.startswith("GRD"):
            findings.update((line, found) for found in _codes(line, segment))
        elif segment == "raises":
            raises.append((line, None))
        elif segment.startswith("raises:"):
            raises.append((line, segment.removeprefix("raises:").strip()))
        elif segment.startswith("revealed:"):
            revealed[line] = segment.removeprefix("revealed:").strip()
        elif segment.startswith("later"):
            later.append((line, _fault(line, segment)))
    if len(raises) > 1:
        raise MarkError(f"lines {[line for line, _ in raises]}: a program raises at one line at most")
    return Marks(findings, raises[0] if raises else None, revealed, tuple(later))


def reveal_lines(code: str) -> frozenset[int]:
    """The lines at which a program calls `reveal`."""
    calls = (node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call))
    return frozenset(c.lineno for c in calls if isinstance(c.func, ast.Name) and c.func.id == "reveal")


def _segments(code: str) -> Iterator[tuple[int, str]]:
    """Each part of each comment that follows code on its line, with the line's number.

    A comment that has a line of its own marks nothing, so that headers can speak about marks.
    """
    for token in _tokens(code):
        if token.type == tokenize.COMMENT and token.line[: token.start[1]].strip():
            for segment in token.string.lstrip("#").split(" # "):
                yield token.start[0], segment.strip()


def _tokens(code: str) -> Iterator[tokenize.TokenInfo]:
    """The tokens of a program; of one with a bracket that is never closed, those before its end."""
    tokens = tokenize.generate_tokens(io.StringIO(code).readline)
    with contextlib.suppress(tokenize.TokenError):
        yield from tokens


def _codes(line: int, segment: str) -> list[str]:
    if not _CODES.fullmatch(segment):
        raise MarkError(f"line {line}: {segment!r} is no list of codes")
    return [part.strip() for part in segment.split(",")]


def _fault(line: int, segment: str) -> str:
    match = _LATER.fullmatch(segment)
    if match is None:
        raise MarkError(f"line {line}: {segment!r} names no fault, as `later: second-backward` does")
    return match["name"]
