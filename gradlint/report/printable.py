"""Names and texts of strangers, as they may go to a terminal or into a log."""

from __future__ import annotations

import re


def printable(text: str) -> str:
    """Return a text on one line in which nothing steers a terminal, turns the direction, or is a command to GitHub.

    What cannot be printed is written as Python writes it in a string. A line of a log is a command to GitHub Actions
    where it begins with `::`, and where `##[` stands in it (actions/runner, ActionCommand.cs).
    """
    return _COMMAND.sub(lambda found: "".join(map(_escaped, found[0])), steerless(text))


def steerless(text: str) -> str:
    """Return a text on one line in which nothing steers a terminal; commands to GitHub stay."""
    if text.isprintable():
        return text
    return "".join(letter if letter.isprintable() else _escaped(letter) for letter in text)


_COMMAND = re.compile(r"^\s*::|##\[")


def _escaped(letter: str) -> str:
    return letter.encode("unicode_escape").decode() if not letter.isprintable() else f"\\x{ord(letter):02x}"
