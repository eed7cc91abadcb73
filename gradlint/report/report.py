"""What a format is made of: the findings of a run, and what there is to say about them."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from functools import cached_property

from gradlint.domain.drawing import Drawing
from gradlint.domain.finding import Finding, Position, Span
from gradlint.domain.frozen import Frozen
from gradlint.report.concise import Fixes
from gradlint.report.paint import Paint
from gradlint.report.paths import path_below
from gradlint.report.place import within
from gradlint.report.rule_page import url_of
from gradlint.rules.base import Rule


def _untaped(_: Finding) -> None:
    """No tape is drawn."""


class Report(Frozen):
    """The findings of a run; `texts` are their files, by the names findings use.

    `fixes` tells which fixes would be made if they were asked for, `repros` whether people are shown the programs that
    prove findings. `tapes` draws the tape that a finding is about, where there is one. `root` is the directory from
    which other programs count paths; None is the current one.
    """

    findings: tuple[Finding, ...]
    texts: Mapping[str, str]
    rules: tuple[Rule, ...]
    fixes: Fixes
    paint: Paint = field(default_factory=Paint)
    repros: bool = False
    root: str | None = None
    tapes: Callable[[Finding], Drawing | None] = _untaped

    @cached_property
    def standing(self) -> tuple[Finding, ...]:
        """The findings that count, as the exit code does: those that torch did not refute."""
        return tuple(finding for finding in self.findings if finding.stands)

    @cached_property
    def placed(self) -> tuple[Finding, ...]:
        """The same for programs that know rows of files only: what stands in a cell is at the top of its notebook."""
        return tuple(map(_at_the_top, self.standing))

    @cached_property
    def marks(self) -> dict[Finding, str]:
        """The fingerprint of each of these."""
        from gradlint.report.fingerprint import by_finding

        known = by_finding(self.findings, self.texts, self.root)
        return {placed: known[one] for one, placed in zip(self.standing, self.placed, strict=True)}

    def url(self, code: str) -> str | None:
        """Return the page about a rule."""
        return self._urls.get(code)

    def path(self, filename: str) -> str:
        """Return the path of a file as other programs know it: from the root on, with slashes."""
        return path_below(self.root or os.getcwd(), filename)

    @cached_property
    def _urls(self) -> dict[str, str | None]:
        return {rule.code: url_of(rule) for rule in self.rules}


_TOP = Span(Position(1, 1), Position(1, 1))


def _at_the_top(finding: Finding) -> Finding:
    """Return a finding of a cell as one of the notebook, whose message names the cell and the row."""
    if finding.span.cell is None:
        return finding
    message = f"{within(finding.span)}: {finding.message}"
    return replace(finding, message=message, span=_TOP, lines=(1, 1), related=(), fix=None)
