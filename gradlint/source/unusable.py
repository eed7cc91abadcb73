"""Why a file cannot be judged: a value, because a user's mistake is no exception."""

from __future__ import annotations

from gradlint.domain.finding import Position
from gradlint.domain.frozen import Frozen

INVALID_SYNTAX = "GRD001"
UNREADABLE_FILE = "GRD002"


class Unusable(Frozen):
    """The code under which it is reported, what is wrong, and where."""

    code: str
    message: str
    position: Position


def invalid(message: str, row: int = 1, column: int = 1) -> Unusable:
    """Return a file that was read and is no Python program."""
    return Unusable(INVALID_SYNTAX, message, Position(max(row, 1), max(column, 1)))


def unreadable(message: str) -> Unusable:
    """Return a file or directory that the system does not let us read."""
    return Unusable(UNREADABLE_FILE, message, Position(1, 1))
