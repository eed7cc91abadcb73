"""A terminal in memory."""

from __future__ import annotations

import io


class Terminal(io.StringIO):
    """A stream that is a terminal."""

    def isatty(self) -> bool:
        """Yes."""
        return True
