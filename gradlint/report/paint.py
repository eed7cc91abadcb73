"""Colour for people: on a terminal that wants it, and nowhere else."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TextIO

from gradlint.domain.finding import Severity

_COLOURS: Mapping[Severity, str] = {"error": "31", "warning": "33", "info": "36"}


@dataclass(frozen=True)
class Paint:
    """Puts ANSI codes around text, or leaves it as it is."""

    enabled: bool = False

    @classmethod
    def for_stream(cls, stream: TextIO, environment: Mapping[str, str] = os.environ) -> Paint:
        """Colour only for a terminal, and not where `NO_COLOR` is set or the terminal is dumb."""
        wanted = not environment.get("NO_COLOR") and environment.get("TERM") != "dumb"
        return cls(wanted and stream.isatty())

    def bold(self, text: str) -> str:
        """Words that name: a file, a rule."""
        return self._around(text, "1")

    def faint(self, text: str) -> str:
        """Words that hold others together: bars, arrows."""
        return self._around(text, "34")

    def as_severity(self, text: str, severity: Severity) -> str:
        """Words that carry the finding."""
        return self._around(text, f"1;{_COLOURS[severity]}")

    def _around(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.enabled and text else text
