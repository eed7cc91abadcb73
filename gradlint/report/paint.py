"""Colour and links for people: on a terminal that wants them, or where they are asked for."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TextIO, TypeAlias

from gradlint.domain.finding import Severity

Choice: TypeAlias = Literal["auto", "always", "never"]

_COLOURS: Mapping[Severity, str] = {"error": "31", "warning": "33", "info": "36"}
_LINKING = (
    "WT_SESSION",
    "KONSOLE_VERSION",
    "DOMTERM",
    "KITTY_WINDOW_ID",
    "GHOSTTY_RESOURCES_DIR",
    "ALACRITTY_WINDOW_ID",
)
"""Variables that terminals with links set in the programs they run."""
_LINKING_PROGRAMS = ("iTerm.app", "WezTerm", "vscode", "Hyper", "ghostty")
_FIRST_VTE = 5000
"""GNOME's terminals have links from VTE 0.50 on."""


@dataclass(frozen=True)
class Paint:
    """Puts ANSI codes around text, or leaves it as it is; `links`: makes links (OSC 8), too."""

    enabled: bool = False
    links: bool = False

    @classmethod
    def for_stream(
        cls, stream: TextIO | None, environment: Mapping[str, str] = os.environ, choice: Choice = "auto"
    ) -> Paint:
        """Decide for a stream, or for a file (None).

        What the user chose goes before `NO_COLOR`, this before `FORCE_COLOR` and `CLICOLOR_FORCE`, these before whether
        the stream is a terminal, and not a dumb one. Only such a terminal gets links, if it is known to have them.
        """
        terminal = stream is not None and stream.isatty() and environment.get("TERM") != "dumb"
        enabled = _is_coloured(terminal, stream is None, environment) if choice == "auto" else choice == "always"
        return cls(enabled, enabled and terminal and _has_links(environment))

    def bold(self, text: str) -> str:
        """Words that name: a file, a rule."""
        return self._around(text, "1")

    def faint(self, text: str) -> str:
        """Words that hold others together: bars, arrows."""
        return self._around(text, "34")

    def as_severity(self, text: str, severity: Severity) -> str:
        """Words that carry the finding."""
        return self._around(text, f"1;{_COLOURS[severity]}")

    def link(self, text: str, url: str | None) -> str:
        """Words that lead to a page, if there is one."""
        return f"\x1b]8;;{url}\x1b\\{text}\x1b]8;;\x1b\\" if self.links and url else text

    def _around(self, text: str, style: str) -> str:
        return f"\x1b[{style}m{text}\x1b[0m" if self.enabled and text else text


def _is_coloured(terminal: bool, file: bool, environment: Mapping[str, str]) -> bool:
    """Return whether a stream is coloured that the user said nothing about; a variable colours no file."""
    if environment.get("NO_COLOR"):
        return False
    forced = any(environment.get(name, "") not in ("", "0") for name in ("FORCE_COLOR", "CLICOLOR_FORCE"))
    return terminal or (forced and not file)


def _has_links(environment: Mapping[str, str]) -> bool:
    """Return whether the terminal is known to show links; some others print the address into the text."""
    vte = environment.get("VTE_VERSION", "")
    known = environment.get("TERM_PROGRAM") in _LINKING_PROGRAMS or (vte.isdecimal() and int(vte) >= _FIRST_VTE)
    return known or any(environment.get(name) for name in _LINKING)
