"""From a repair, which speaks of syntax nodes, to a fix, which edits stretches of the text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from functools import cached_property

import libcst as cst

from gradlint.domain.finding import Edit, Fix, Position, Span
from gradlint.fixes.edits import Text, apart
from gradlint.fixes.imports import Imports
from gradlint.fixes.readings import needing, nodes_in, read_as_number, readings_of
from gradlint.fixes.rewrite import bracketed, in_place, indented, rewritten, rows_to_indent
from gradlint.rules.authoring.repairs import operand
from gradlint.rules.base import (
    After,
    Before,
    Below,
    Change,
    Reading,
    Rebinding,
    Reduced,
    Remove,
    Repair,
    Statement,
    Wrap,
)
from gradlint.rules.base import Edit as Asked
from gradlint.source.lower.syntax import code_of
from gradlint.source.place import Places
from gradlint.source.read import LINE_END, split_lines


class Locator:
    """The fixes of one module."""

    def __init__(self, module: cst.Module, places: Places, text: str) -> None:
        """Take the module, and its text: writing it out again would cost as much as reading it."""
        self._module = module
        self._places = places
        self._text = text

    def fix(self, repair: Repair) -> Fix | None:
        """Return the fix that a repair asks for; None where the statement's form or a taken name stands against it.

        A fix that would take a comment away is not safe, whatever the repair says of itself.
        """
        try:
            edits = [edit for change in repair.changes for edit in self._edits(change, repair)]
            edits = list(self._moved_in(edits, repair))
            edits += self._added_imports(repair, "\n".join(edit.content for edit in edits))
        except _ImpossibleError:
            return None
        edits = sorted(dict.fromkeys(edits), key=lambda edit: (edit.span.start, edit.span.end))
        fix = Fix(repair.message, tuple(edits), repair.safe and not self._loses_comments(repair, edits))
        return fix if apart(self._source, fix) else None

    @cached_property
    def _imports(self) -> Imports:
        return Imports(self._module)

    @cached_property
    def _lines(self) -> list[str]:
        return split_lines(self._text)

    @cached_property
    def _source(self) -> Text:
        return Text(self._text)

    def _edits(self, change: Asked, repair: Repair) -> Iterator[Edit]:
        if isinstance(change, Change):
            edit = self._changed(change.node, self._spelled(change.text, repair))
            yield self._removed_if_idle(change.node, edit)
        elif isinstance(change, Wrap):
            if change.whole and not self._places.is_statement(change.node):
                raise _ImpossibleError
            yield self._wrapped(self._alone(change.node), self._spelled(change.header, repair))
        elif isinstance(change, Below):
            yield from self._headed_rows(change, repair)
        elif isinstance(change, Before):
            line = self._headed(change.node)
            yield _insert(line.start, self._spelled(change.text, repair) + self._new_line(line))
        elif isinstance(change, After):
            self._assigned(change.node, change.name)
            line = self._alone(change.node)
            yield _insert(self._end_of_row(line), self._new_line(line) + change.text)
        elif isinstance(change, Rebinding):
            yield from self._written_in_place(change.node, self._spelled(change.header, repair))
        elif isinstance(change, Reading):
            yield from self._read_through(change)
        elif isinstance(change, Reduced):
            yield self._reduced(change)
        elif isinstance(change, Statement):
            alone = self._places.is_statement(change.node)
            if alone and not change.text:
                yield self._removed(change.node)
                return
            text = change.text if alone else change.inside
            if text is None:
                raise _ImpossibleError
            yield self._changed(change.node, self._spelled(text, repair))
        else:
            yield self._removed(change.node)

    def _changed(self, node: cst.CSTNode, text: str) -> Edit:
        """Return a node's stretch with new content, in the rows of the old one, in brackets where it needs them."""
        span = self._places.whole(node)
        start, end = self._source.offset(span.start), self._source.offset(span.end)
        real = self._text[start:end]
        content = text if LINE_END.search(real + text) is None else self._rewritten(node, real, text)
        if isinstance(node, cst.BaseExpression):
            content = bracketed(self._text, start, end, content)
        return Edit(span, content)

    def _rewritten(self, node: cst.CSTNode, real: str, text: str) -> str:
        """Return the new content of a node of several rows, in those of the old one."""
        empty = isinstance(node, cst.Tuple) and not node.elements
        bare = node.with_changes(lpar=(), rpar=()) if isinstance(node, cst.BaseExpression) and not empty else node
        return rewritten(real, code_of(bare), text, self._module.default_newline)

    def _spelled(self, text: str, repair: Repair) -> str:
        for path in repair.imports:
            text = self._imports.spell(text, path) or text
        return text

    def _added_imports(self, repair: Repair, written: str) -> Iterator[Edit]:
        for path in repair.imports:
            if path not in written or self._imports.spell(path, path) is not None:
                continue
            place = self._imports.place(path)
            if place is None or not self._imports.can_add(path):
                raise _ImpossibleError
            yield self._new_import(path.partition(".")[0], place)

    def _new_import(self, package: str, place: cst.CSTNode) -> Edit:
        """Return an import on a row of its own before a statement, apart from what is no import."""
        first, rows = place, 1
        if isinstance(place, (cst.FunctionDef, cst.ClassDef)):
            first, rows = next(iter(place.decorators), place), 2
        elif isinstance(place, cst.SimpleStatementLine) and isinstance(place.body[0], (cst.Import, cst.ImportFrom)):
            rows = 0
        start = Position(self._places.whole(first).start.row, 1)
        return _insert(start, f"import {package}" + self._module.default_newline * (1 + rows))

    def _alone(self, node: cst.CSTNode) -> Span:
        """Return the statement around a node, which must have its rows for itself."""
        statement = self._places.statement(node)
        if statement is None or len(statement.body) != 1:
            raise _ImpossibleError
        return self._places.whole(statement)

    def _headed(self, node: cst.CSTNode) -> Span:
        """Return the statement around a node, or the definition that it is."""
        return self._places.whole(node) if isinstance(node, cst.FunctionDef) else self._alone(node)

    def _end_of_row(self, line: Span) -> Position:
        """Return the place after a statement and the comment after it."""
        return Position(line.end.row, len(self._lines[line.end.row - 1]) + 1)

    def _assigned(self, node: cst.CSTNode, name: str | None = None) -> tuple[cst.Assign, str]:
        """Return the statement that assigns a node to one name, and nothing else."""
        assign = self._small(node)
        if not isinstance(assign, cst.Assign) or assign.value is not node or len(assign.targets) != 1:
            raise _ImpossibleError
        target = assign.targets[0].target
        if not isinstance(target, cst.Name) or name not in (None, target.value):
            raise _ImpossibleError
        return assign, target.value

    def _small(self, node: cst.CSTNode) -> cst.BaseSmallStatement | None:
        """Return the first part of the statement around a node."""
        statement = self._places.statement(node)
        return None if statement is None else statement.body[0]

    def _written_in_place(self, node: cst.CSTNode, header: str) -> Iterator[Edit]:
        assign, name = self._assigned(node)
        text = in_place(name, assign.value)
        if text is None:
            raise _ImpossibleError
        edit = self._changed(assign, text)
        yield Edit(edit.span, indented(edit.content, self._module.default_indent))
        yield self._wrapped(self._alone(node), header)

    def _read_through(self, change: Reading) -> Iterator[Edit]:
        """Yield each reading of what the statement assigns, inside of the value that it assigns."""
        assign = self._small(change.node)
        readings = readings_of(assign, change.node) if isinstance(assign, cst.Assign) else []
        if not readings:
            raise _ImpossibleError
        for reading in readings:
            yield self._changed(reading, f"{code_of(reading)}.{change.method}()")

    def _reduced(self, change: Reduced) -> Edit:
        """Return the expression through the method, or a statement before that does so with the name in it."""
        if change.name is None or not read_as_number(change.name, self._places.after(change.node)):
            return self._changed(change.node, f"{operand(change.node)}.{change.method}()")
        line = self._alone(change.node)
        return _insert(line.start, f"{change.name} = {change.name}.{change.method}()" + self._new_line(line))

    def _wrapped(self, line: Span, header: str) -> Edit:
        """Return the header before the statement, whose first row moves one level in."""
        return _insert(line.start, header + self._new_line(line) + self._module.default_indent)

    def _headed_rows(self, change: Below, repair: Repair) -> Iterator[Edit]:
        """Yield a header before several statements, and each of their rows one level in."""
        span = self._needing(change.node)
        header = self._spelled(change.header, repair)
        if repair.changes[0] == Remove(change.node):  # The header takes the place of the first statement.
            start = Position(self._alone(change.node).end.row + 1, span.start.column)
            if not any(start == self._places.whole(one).start for one in self._needed(change.node)):
                raise _ImpossibleError
            yield self._wrapped(Span(start, span.end), header)
        else:
            yield self._wrapped(span, header)

    def _needing(self, node: cst.CSTNode) -> Span:
        """Return the statement around a node, and those of its block that need what it assigns."""
        line, others = self._alone(node), self._needed(node)
        return Span(line.start, self._places.whole(others[-1]).end if others else line.end)

    def _needed(self, node: cst.CSTNode) -> Sequence[cst.BaseStatement]:
        statement = self._places.statement(node)
        others = None if statement is None else needing(statement, self._places.following(statement))
        if others is None:
            raise _ImpossibleError
        return others

    def _moved_in(self, edits: list[Edit], repair: Repair) -> Iterator[Edit]:
        """Yield the edits, and the other rows of the statements that are wrapped, moved one level in as well."""
        lines = [self._alone(change.node) for change in repair.changes if isinstance(change, Wrap)]
        lines += [self._needing(change.node) for change in repair.changes if isinstance(change, Below)]
        unit = self._module.default_indent
        for edit in edits:
            inside = any(line.start <= edit.span.start < edit.span.end <= line.end for line in lines)
            yield Edit(edit.span, indented(edit.content, unit)) if inside else edit
        for line in lines:
            start, end = self._source.offset(line.start), self._source.offset(line.end)
            for row in rows_to_indent(self._text[start:end]):
                at = Position(line.start.row + row, 1)
                if not any(edit.span.start < at <= edit.span.end for edit in edits):
                    yield _insert(at, unit)

    def _new_line(self, line: Span) -> str:
        return self._module.default_newline + self._lines[line.start.row - 1][: line.start.column - 1]

    def _removed(self, node: cst.CSTNode) -> Edit:
        """Replace a statement by `pass` where it is the only one of its block, and by nothing otherwise."""
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
            raise _ImpossibleError  # A comment after it may be about more than this statement.
        return Edit(Span(Position(span.start.row, 1), Position(span.end.row + 1, 1)), "")

    def _removed_if_idle(self, node: cst.CSTNode, edit: Edit) -> Edit:
        """Remove the statement instead where the edit makes `x = x` of it: of `x = Variable(x)`."""
        try:
            self._assigned(node, edit.content)
            return self._removed(node)
        except _ImpossibleError:
            return edit

    def _loses_comments(self, repair: Repair, edits: list[Edit]) -> bool:
        """Return whether a comment inside of what changes is in none of the new texts."""
        changed = [change.node for change in repair.changes if isinstance(change, (Change, Statement))]
        inside = (one for node in changed for one in nodes_in(node))
        found = Counter(one.value for one in inside if isinstance(one, cst.Comment))
        written = "\n".join(edit.content for edit in edits)
        return any(written.count(comment) < number for comment, number in found.items())


class _ImpossibleError(Exception):
    """The repair cannot be made here without risk."""


def _insert(at: Position, text: str) -> Edit:
    return Edit(Span(at, at), text)
