"""From a repair, which speaks of syntax nodes, to a fix, which edits stretches of the text."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from gradlint.domain.finding import Edit, Fix, Position, Span
from gradlint.fixes.edits import apart
from gradlint.fixes.imports import Imports
from gradlint.rules.base import Before, Change, Repair, Statement, Wrap
from gradlint.rules.base import Edit as Wish
from gradlint.source.lines import split_lines
from gradlint.source.place import Places


class Locator:
    """The fixes of one module."""

    def __init__(self, module: cst.Module, places: Places) -> None:
        self._module = module
        self._places = places

    def fix(self, repair: Repair) -> Fix | None:
        """The fix that a repair asks for; None where the statement's form or a taken name stands against it."""
        try:
            edits = [edit for change in repair.changes for edit in self._edits(change, repair)]
            edits += self._added_imports(repair)
        except _ImpossibleError:
            return None
        edits = list(dict.fromkeys(edits))
        fix = Fix(repair.message, tuple(sorted(edits, key=lambda edit: (edit.span.start, edit.span.end))), repair.safe)
        return fix if apart(self._text, fix) else None

    @cached_property
    def _imports(self) -> Imports:
        return Imports(self._module)

    @cached_property
    def _lines(self) -> list[str]:
        return split_lines(self._text)

    @cached_property
    def _text(self) -> str:
        return self._module.code

    def _edits(self, change: Wish, repair: Repair) -> Iterator[Edit]:
        if isinstance(change, Change):
            yield Edit(self._places.whole(change.node), self._spelled(change.text, repair))
        elif isinstance(change, Wrap):
            yield self._wrapped(self._alone(change.node), self._spelled(change.header, repair))
        elif isinstance(change, Before):
            line = self._alone(change.node)
            yield _insert(line.start, self._spelled(change.text, repair) + self._new_line(line))
        elif isinstance(change, Statement):
            text = change.text if self._is_statement(change.node) else change.inside
            if text is None:
                raise _ImpossibleError
            yield Edit(self._places.whole(change.node), self._spelled(text, repair))
        else:
            yield self._removed(change.node)

    def _spelled(self, text: str, repair: Repair) -> str:
        for path in repair.imports:
            text = self._imports.spell(text, path) or text
        return text

    def _added_imports(self, repair: Repair) -> Iterator[Edit]:
        for path in repair.imports:
            if self._imports.spell(path, path) is not None:
                continue
            place = self._imports.place()
            if place is None or not self._imports.can_add(path):
                raise _ImpossibleError
            start = Position(self._places.whole(place).start.row, 1)
            yield _insert(start, f"import {path.partition('.')[0]}{self._module.default_newline}")

    def _alone(self, node: cst.CSTNode) -> Span:
        """The statement around a node, which must have its rows for itself."""
        statement = self._places.statement(node)
        if statement is None or len(statement.body) != 1:
            raise _ImpossibleError
        return self._places.whole(statement)

    def _is_statement(self, node: cst.CSTNode) -> bool:
        """Whether a simple statement consists of a node."""
        line = self._places.statement(node)
        small = () if line is None else line.body
        return any(one is node or (isinstance(one, cst.Expr) and one.value is node) for one in small)

    def _wrapped(self, line: Span, header: str) -> Edit:
        """The header before the statement, which moves one level in: rows it goes on in are inside brackets."""
        return _insert(line.start, header + self._new_line(line) + self._module.default_indent)

    def _new_line(self, line: Span) -> str:
        return self._module.default_newline + self._lines[line.start.row - 1][: line.start.column - 1]

    def _removed(self, node: cst.CSTNode) -> Edit:
        """A statement becomes `pass` where it is the only one of its block, and nothing otherwise."""
        statement = self._places.statement(node)
        if statement is None or len(statement.body) != 1:
            raise _ImpossibleError
        span = self._places.whole(statement)
        if self._places.is_only_child(statement):
            return Edit(span, "pass")
        if span.end.row >= len(self._lines):
            return Edit(span, "")
        rest = self._lines[span.end.row - 1][span.end.column - 1 :]
        if rest.strip():
            raise _ImpossibleError  # A comment behind it may be about more than this statement.
        return Edit(Span(Position(span.start.row, 1), Position(span.end.row + 1, 1)), "")


class _ImpossibleError(Exception):
    """The repair cannot be made here without risk."""


def _insert(at: Position, text: str) -> Edit:
    return Edit(Span(at, at), text)
