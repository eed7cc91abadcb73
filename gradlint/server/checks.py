"""The check of what is open, as `gradlint check` checks a file: all here runs in the worker's thread."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from gradlint.check import gathered, importing
from gradlint.checker import Checker, Progress, Task
from gradlint.domain.asked import Question
from gradlint.domain.finding import Finding, Position, Related, Span
from gradlint.domain.frozen import Frozen
from gradlint.outcome import Checked, Mended
from gradlint.server.documents import Document
from gradlint.server.texts import alike
from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs
from gradlint.source.discover import Discovery, Found
from gradlint.source.documents.kinds import largest_of
from gradlint.source.read import split_lines, unreadable


class Context(Frozen):
    """What the files that import a document have shown, while the document had this text."""

    text: str = ""
    checked: tuple[Checked, ...] = ()

    def moved(self, path: str, text: str) -> tuple[Checked, ...]:
        """Return the same for another text: what stands in rows that were changed is left out."""
        if text == self.text or not any(one.elsewhere for one in self.checked):
            return self.checked
        shift = _Shift(split_lines(self.text), split_lines(text))
        return tuple(
            replace(one, elsewhere=tuple(new for old in one.elsewhere for new in shift.finding(old, path)))
            for one in self.checked
        )


class Report(Frozen):
    """What was found in one version of a document; nothing, where it is not to be checked."""

    document: Document
    config: Config
    checked: Checked | None

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings, by place."""
        return () if self.checked is None else self.checked.findings

    def has_read(self, path: Path) -> bool:
        """Return whether the check has read a file."""
        return self.checked is not None and Question("text", str(path)) in self.checked.asked


class Checks:
    """A checker for all documents, with what it has learnt of the files around them."""

    def __init__(self, configs: Configs) -> None:
        self.configs = configs
        self.checker = Checker(wanted=_is_safe)

    def check(self, document: Document, context: Context) -> Report:
        """Check a document, with what is known from files that import it.

        Raises:
            ConfigError: its configuration cannot be used.
        """
        config = self.configs.of(document.path.parent)
        found = self._found(document)
        if found is None:
            return Report(document, config, None)
        content = None if found.problem else document.content
        around = context.moved(str(document.path), document.content)
        (own,) = self.perform([Task(found, held=content, mends=False)])
        (checked,) = gathered([found], [own], around, self.checker, self.perform, content)
        self._hold(document, checked)
        return Report(document, config, replace(checked, asked=own.asked))

    def importers(self, document: Document) -> list[Task]:
        """Return the checks of those files that import a document."""
        found = self._found(document)
        return [] if found is None else importing([found], Discovery(self.configs), self.checker)

    def perform(self, tasks: Sequence[Task], progress: Progress | None = None, /) -> list[Checked]:
        """Do tasks, one after the other; no fixes are made, unless a task says so."""
        return [self.checker.perform(task) for task in tasks]

    def mended(self, document: Document) -> Mended | None:
        """Return what the safe fixes make of a document, round by round until none is left."""
        found = self._found(document)
        if found is None or found.problem:
            return None
        (checked,) = self.perform([Task(found, held=document.content)])
        return checked.mended

    def close(self, document: Document) -> None:
        """Let the file count again."""
        self.checker.hold(str(document.path), None)

    def _hold(self, document: Document, checked: Checked) -> None:
        """Let a text count for those that import the file, unless it is none that they could read."""
        if not document.is_notebook and not any(one.effect == "invalid" for one in checked.findings):
            self.checker.hold(str(document.path), document.content)

    def _found(self, document: Document) -> Found | None:
        """Return a document as a file to check; None for one that the configuration excludes."""
        largest = largest_of(document.name)
        too_large = unreadable(f"it has more than {largest:,} bytes") if len(document.content) > largest else None
        if document.path.is_file():
            found = Discovery(self.configs, force_exclude=True).files([document.name])
            return replace(found[0], problem=too_large) if found else None
        return Found(document.name, document.path, self.configs.of(document.path.parent), problem=too_large)


def _is_safe(finding: Finding, config: Config, text: str) -> bool:
    return finding.fix is not None and finding.fix.safe and config.may_fix(finding)


class _Shift:
    """Where rows of a text stand after a change of the rows between those that are alike."""

    def __init__(self, old: list[str], new: list[str]) -> None:
        self._head, self._tail = alike(old, new)
        self._old, self._grown = len(old), len(new) - len(old)

    def finding(self, finding: Finding, path: str) -> list[Finding]:
        """Return a finding where it stands now; none where its rows, or those that explain it, were changed."""
        if finding.filename != path:
            return [finding]
        span = self._span(finding.span)
        first, last = (self._row(row) for row in finding.lines)
        if span is None or first is None or last is None:
            return []
        moved = finding.relocated(span, self._related)
        return [replace(moved, lines=(first, last), fix=None)]

    def _related(self, place: Related) -> Related | None:
        span = place.span if place.filename is not None else self._span(place.span)
        return None if span is None else replace(place, span=span)

    def _span(self, span: Span) -> Span | None:
        start, end = self._row(span.start.row), self._row(span.end.row)
        if start is None or end is None:
            return None
        return Span(Position(start, span.start.column), Position(end, span.end.column))

    def _row(self, row: int) -> int | None:
        if row <= self._head:
            return row
        return row + self._grown if row > self._old - self._tail else None
