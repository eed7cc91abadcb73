"""Patterns of files as in `.gitignore`, which match what they match for git.

What a line means is that of git's dir.c, what its letters match that of git's wildmatch.c. Git tries one way after
another; here all ways are followed side by side, so that a pattern costs its length for each letter of a path.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

_SPECIAL = re.compile(rb"[*?\[\\]")
_SLASH = ord("/")


class Patterns:
    """The lines of one file, or of one key of a configuration: the last that matches a path decides."""

    def __init__(self, lines: Iterable[str | bytes]) -> None:
        read = (line.encode(errors="surrogateescape") if isinstance(line, str) else line for line in lines)
        parsed = (_parse(line) for line in read)
        self._patterns = [pattern for pattern in parsed if pattern is not None][::-1]
        self._directories: dict[str, bool | None] = {"": None}

    def __bool__(self) -> bool:
        return bool(self._patterns)

    def match(self, path: str, *, is_directory: bool) -> bool | None:
        """Return whether a path is named, which is relative to where the patterns stand; None if no line is about it.

        A path below a directory that is named is named, too, whatever is said of the path itself.
        """
        above = path.rpartition("/")[0]
        if above not in self._directories:
            self._directories[above] = self.match(above, is_directory=True)
        return self._directories[above] or self.names(path, is_directory=is_directory)

    def names(self, path: str, *, is_directory: bool) -> bool | None:
        """Return the same, of the path itself alone."""
        known_as = os.fsencode(path)
        matching = (pattern for pattern in self._patterns if pattern.matches(known_as, is_directory))
        last = next(matching, None)
        return None if last is None else not last.negated


@dataclass
class _Pattern:
    """One line: `literal` is what it begins with, up to the first letter with a meaning, `rest` the other letters."""

    literal: bytes
    rest: bytes
    negated: bool
    only_directories: bool
    only_name: bool
    _automaton: _Automaton | None = field(default=None, init=False)

    def matches(self, path: bytes, is_directory: bool) -> bool:
        """Return whether this line alone is about the path."""
        if self.only_directories and not is_directory:
            return False
        text = path.rpartition(b"/")[2] if self.only_name else path
        if not self.rest:
            return text == self.literal
        if not text.startswith(self.literal):
            return False
        if self._automaton is None:
            self._automaton = _Automaton(self.rest, paths=not self.only_name)
        return self._automaton.matches(text[len(self.literal) :])


def _parse(line: bytes) -> _Pattern | None:
    line = line.removesuffix(b"\n").removesuffix(b"\r")
    if line.startswith(b"#"):
        return None
    line = _without_trailing_spaces(line)
    negated = line.startswith(b"!")
    line = line[negated:]
    only_directories = line.endswith(b"/")
    line = line[: len(line) - only_directories]
    if not line:
        return None
    only_name = b"/" not in line
    line = line.removeprefix(b"/")
    special = _SPECIAL.search(line)
    literal = line if special is None else line[: special.start()]
    if only_name:  # Which is matched as a whole: `a**` is no path.
        literal = literal if special is None else b""
    return _Pattern(literal, line[len(literal) :], negated, only_directories, only_name)


def _without_trailing_spaces(line: bytes) -> bytes:
    """Return a line without spaces at its end, but for those after a backslash."""
    end = position = 0
    while position < len(line):
        if line[position : position + 1] == b"\\":
            position += 1
            end = position + 1
        elif line[position : position + 1] != b" ":
            end = position + 1
        position += 1
    return line[:end]


_ANY_FOLDERS = re.compile(rb"(?:(?<=/)|^)(?:\*{2,}/)+")
"""Folders of any number, however often that is said."""


class _Automaton:
    """The letters of a pattern, each with its number: a set of numbers says which of them may come next in a text.

    A set is an integer with a bit for each letter, and for the end. A star stays where it is for the letters that it
    takes, and lets the next one come without any.
    """

    def __init__(self, pattern: bytes, *, paths: bool) -> None:
        self._letters, self._skips = _letters(_ANY_FOLDERS.sub(b"**/", pattern), paths)
        optional = {number for source, target in self._skips for number in range(source, target)}
        self._least = sum(number not in optional for number in range(len(self._letters)))
        self._end = 1 << len(self._letters)
        self._taking: dict[int, tuple[int, int]] = {}
        self._start = self._skipped(1)

    def matches(self, text: bytes) -> bool:
        """Return whether the whole text is what the pattern says."""
        if len(text) < self._least:
            return False
        now = self._start
        for byte in text:
            if byte not in self._taking:
                self._taking[byte] = self._masks(byte)
            moving, staying = self._taking[byte]
            now = self._skipped((now & moving) << 1 | now & staying)
            if not now:
                return False
        return bool(now & self._end)

    def _masks(self, byte: int) -> tuple[int, int]:
        """Return the letters that a byte passes, and the stars that take it."""
        moving = staying = 0
        for number, (takes, is_star) in enumerate(self._letters):
            if takes(byte):
                moving |= 0 if is_star else 1 << number
                staying |= 1 << number if is_star else 0
        return moving, staying

    def _skipped(self, now: int) -> int:
        """Add what may come next because stars need not take anything."""
        for source, target in self._skips:  # In order, so that one may lead to the next.
            if now >> source & 1:
                now |= 1 << target
        return now


_Takes = Callable[[int], bool]


def _letters(pattern: bytes, paths: bool) -> tuple[list[tuple[_Takes, bool]], list[tuple[int, int]]]:
    """Return what each letter of a pattern takes, and whether it is a star; and which letters may be skipped to where.

    In `paths` nothing but two stars between slashes takes a slash.
    """
    letters: list[tuple[_Takes, bool]] = []
    skips: list[tuple[int, int]] = []
    position = 0
    while position < len(pattern):
        letter = pattern[position : position + 1]
        if letter == b"*":
            start = position
            while pattern[position : position + 1] == b"*":
                position += 1
            before, after = pattern[:start], pattern[position:]
            is_whole = position - start > 1 and (not before or before.endswith(b"/"))
            deep = is_whole and (not after or after.startswith((b"/", b"\\/")))
            if paths and deep and after.startswith(b"/"):
                # Before the star takes anything, it and the slash after it may be left out.
                skips += [(len(letters), len(letters) + 1), (len(letters), len(letters) + 3)]
                letters.append((_nothing, False))
            skips.append((len(letters), len(letters) + 1))
            letters.append((_anything if deep or not paths else _no_slash, True))
        elif letter == b"?":
            letters.append((_no_slash if paths else _anything, False))
            position += 1
        elif letter == b"[":
            takes, position = _bracket(pattern, position + 1)
            letters.append((_outside_slash(takes) if paths else takes, False))
        else:
            position += letter == b"\\"
            letters.append((_exactly(pattern[position : position + 1]), False))
            position += 1
    return letters, skips


def _anything(byte: int) -> bool:
    return True


def _nothing(byte: int) -> bool:
    return False


def _no_slash(byte: int) -> bool:
    return byte != _SLASH


def _exactly(letter: bytes) -> _Takes:
    """Take one letter; a backslash at the end of a pattern has none, and nothing matches it."""
    return (lambda byte: byte == letter[0]) if letter else _nothing


def _outside_slash(takes: _Takes) -> _Takes:
    return lambda byte: byte != _SLASH and takes(byte)


def _bracket(pattern: bytes, position: int) -> tuple[_Takes, int]:
    """Return what `[...]` takes, and where it ends; one that does not end matches nothing, and nor does the pattern."""
    negated = pattern[position : position + 1] in (b"!", b"^")
    position += negated
    members: set[int] = set()
    first, previous = True, 0
    while first or pattern[position : position + 1] != b"]":
        first = False
        letter, step = _member(pattern, position)
        if letter is None:
            return _nothing, len(pattern)
        following = pattern[position + 1 : position + 2]
        named = _CLASS.match(pattern, position)
        if letter == ord("-") and step == 1 and previous and following and following != b"]":
            last, width = _member(pattern, position + 1)
            if last is None:
                return _nothing, len(pattern)
            members.update(range(previous, last + 1))
            previous, position = 0, position + 1 + width
        elif named is not None and named[2]:
            inside = _NAMED.get(named[1])
            if inside is None:
                return _nothing, len(pattern)
            members.update(inside)
            previous, position = 0, named.end()
        elif pattern[position : position + 2] == b"[:" and b"]" not in pattern[position + 2 :]:
            return _nothing, len(pattern)
        else:
            members.add(letter)
            previous, position = letter, position + step
    return (lambda byte: (byte in members) is not negated), position + 1


def _member(pattern: bytes, position: int) -> tuple[int | None, int]:
    """Return a letter within brackets, and how many it takes to write it; None at the end of the pattern."""
    step = 2 if pattern[position : position + 1] == b"\\" else 1
    letter = pattern[position + step - 1 : position + step]
    return (letter[0] if letter else None), step


_CLASS = re.compile(rb"\[:([^\]]*?)(:?)\]")
_ASCII = bytes(range(128))
_NAMED = {
    b"alnum": {byte for byte in _ASCII if chr(byte).isalnum()},
    b"alpha": {byte for byte in _ASCII if chr(byte).isalpha()},
    b"blank": {*b" \t"},
    b"cntrl": {*range(32), 127},
    b"digit": {*b"0123456789"},
    b"graph": {*range(33, 127)},
    b"lower": {byte for byte in _ASCII if chr(byte).islower()},
    b"print": {*range(32, 127)},
    b"punct": {byte for byte in range(33, 127) if not chr(byte).isalnum()},
    b"space": {*b" \t\n\v\f\r"},
    b"upper": {byte for byte in _ASCII if chr(byte).isupper()},
    b"xdigit": {*b"0123456789abcdefABCDEF"},
}
