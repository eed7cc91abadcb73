"""Comments that silence findings: `# noqa`, which flake8 reads as well, and those that begin with `# gradlint:`.

`# noqa` is read as flake8 reads it, so that one comment serves both: letter case does not matter, codes are prefixes,
and what follows `noqa` without being a list of codes makes the comment a bare one, which silences everything in its
statement. Where a comment of our own is wrong, it silences nothing, and the fault says why."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, TypeAlias

from gradlint.domain.frozen import Frozen
from gradlint.domain.near_words import near_words
from gradlint.source.comments import Placed, comments_with, next_code_rows
from gradlint.source.read import split_lines

Scope: TypeAlias = Literal["statement", "next", "file", "from", "until"]
"""What a comment is about: its own statement, the next one, the file, or the rows from it on, `until` another one."""

_NOQA = r"#\s*noqa\b(?::\s?(?P<codes>(?:[A-Z]+[0-9]+(?:[,\s]+)?)+))?"
_OURS = r"#\s*gradlint\s*[:=]\s*(?P<verb>[a-z][\w-]*)"
_EITHER = re.compile(rf"{_NOQA}|{_OURS}", re.IGNORECASE)
_CODE = re.compile(r"[A-Z]+[0-9]+", re.IGNORECASE)
_WORD = re.compile(r"[^,\s]+")
_AFTER_COLON = re.compile(r"\s*:\s*(?P<list>[A-Z][\w-]*(?:(?:\s*,\s*|\s+(?=GRD[0-9]))[A-Z][\w-]*)*)", re.IGNORECASE)
_BARE = re.compile(r"\s*(?:$|#|[-\u2013\u2014])")
_NO_PROSE = re.compile(r"\s*(?:$|[\[(:=#\-])|\s+GRD[0-9]", re.IGNORECASE)

VERBS = ("noqa", "ignore", "disable", "enable", "disable-next-line", "ignore-next-line", "file-ignore")


class Word(Frozen):
    """A code, the beginning of one, or the name of a rule in a comment, and its place in the row."""

    text: str
    start: int
    end: int


class Comment(Frozen):
    """One comment that silences, or is meant to: its row and its stretch of the row, and what it is about.

    Without `words` it is about all findings, unless there is a `fault`: then it silences nothing. `target` is
    the row that it counts for. `alone`: nothing stands before it in its row.
    """

    row: int
    start: int
    end: int
    verb: str
    scope: Scope
    words: tuple[Word, ...]
    target: int
    alone: bool
    ours: bool = True
    fault: str | None = None
    hint: str | None = None


def comments(text: str) -> tuple[Comment, ...]:
    """Return the comments of a text in order; a text without one costs one search."""
    placed = list(comments_with(_EITHER, text))
    if not placed:
        return ()
    following = next_code_rows(split_lines(text), [one.row for one in placed])
    return tuple(comment for one, row in zip(placed, following, strict=True) for comment in _read(one, row))


def _read(placed: Placed, following: int) -> Iterator[Comment]:
    """Yield what one comment says: the first `noqa` of it counts, as in flake8, and all that is addressed to us."""
    noqa = False
    for found in _EITHER.finditer(placed.text):
        if found["verb"]:
            comment = _addressed(placed, found, following)
            if comment is not None:
                yield comment
        elif not noqa:
            noqa = True
            words = _words(found["codes"] or "", placed.start + max(found.start("codes"), 0), _CODE)
            stretch = placed.start + found.start(), placed.start + found.end()
            yield Comment(placed.row, *stretch, "noqa", "statement", words, placed.row, placed.alone, ours=False)


def _addressed(placed: Placed, found: re.Match[str], following: int) -> Comment | None:
    """Return what a comment says that begins with `# gradlint:`; None where it is prose."""
    verb, rest = found["verb"].lower(), placed.text[found.end() :]
    alone = placed.alone and not found.start()
    scope = _scope(verb, alone=alone)

    def comment(words: tuple[Word, ...], length: int, fault: str | None = None, hint: str | None = None) -> Comment:
        stretch = placed.start + found.start(), placed.start + found.end() + length
        target = following if scope == "next" else placed.row
        return Comment(placed.row, *stretch, verb, scope, words, target, alone, True, fault, hint)

    if verb not in VERBS:
        close = near_words(verb, VERBS)
        if not (rest.startswith("[") or (close and _NO_PROSE.match(rest))):
            return None
        choice = f"did you mean `{close[0]}`?" if close else f"write one of {', '.join(VERBS)}"
        return comment((), 0, f"gradlint knows no `{verb}`", choice)
    listed = _list(verb, rest)
    if listed is not None:
        words = _words(rest[slice(*listed)], placed.start + found.end() + listed[0], _WORD)
        length = listed[1] + (rest[listed[1] : listed[1] + 1] == "]")
        return comment(words, length) if words else comment((), length, "its list of codes is empty", _CODES)
    if _BARE.match(rest):
        return comment((), 0)
    fault = "its bracket is not closed" if rest.startswith("[") else "no list of codes in brackets follows"
    return comment((), 0, fault, f"write `{verb}[GRD101]`, or a reason after `--`")


_CODES = "name the codes that it is about, or leave the brackets out"


def _list(verb: str, rest: str) -> tuple[int, int] | None:
    """Return where the list of codes after a verb begins and ends; None if there is none, or no end of it."""
    if rest.startswith("["):
        end = re.search(r"[\]\[#]", rest[1:])
        return (1, end.start() + 1) if end and end.group() == "]" else None
    colon = _AFTER_COLON.match(rest) if verb == "noqa" else None
    return colon.span("list") if colon else None


def _scope(verb: str, *, alone: bool) -> Scope:
    if verb == "noqa" and alone:
        return "file"
    if verb == "disable" and alone:
        return "from"
    return _SCOPES.get(verb, "statement")


_SCOPES: dict[str, Scope] = {
    "enable": "until",
    "disable-next-line": "next",
    "ignore-next-line": "next",
    "file-ignore": "file",
}


def _words(text: str, offset: int, word: re.Pattern[str]) -> tuple[Word, ...]:
    return tuple(Word(one.group(), offset + one.start(), offset + one.end()) for one in word.finditer(text))
