"""GRD002: the file or directory cannot be read."""

from __future__ import annotations

from collections.abc import Iterator

from gradlint.domain.event import Event
from gradlint.rules.base import Report, Rule


class UnreadableFile(Rule):
    """The file or directory cannot be read, so nothing is known about it.

    What torch does
        Nothing: the system refuses. Permission is missing, a symbolic link leads nowhere or in a circle, or
        the path is no regular file. gradlint opens no FIFO and no device, since that could wait forever.

    Why it matters
        A file that is not read is a file about which gradlint is silent, and silence must not look like
        praise.

    When it may be wrong
        Never: the system said so. It may not matter, though, as with a link that an editor leaves behind.

    Instead
        Give gradlint the permission, or keep the path out with `exclude`.

    References
        https://docs.python.org/3/library/exceptions.html#os-exceptions
    """

    code = "GRD002"
    name = "unreadable-file"
    effect = "invalid"
    events = ()
    bad = ()
    good = ()

    def check(self, event: Event) -> Iterator[Report]:
        """Nothing: a file that is not read has no events, and `check.py` reports it itself."""
        yield from ()
