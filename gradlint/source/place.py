"""Places of syntax nodes in the text.

libcst computes positions by writing syntax out again, at the cost of about two parses. So this is done only for a file
about which there is something to say, and there only for the statements of the top level that it is about.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from types import TracebackType
from typing import TypeAlias

import libcst as cst
from libcst._nodes.internal import CodegenState
from libcst._nodes.whitespace import NEWLINE_RE

from gradlint.domain.finding import Position, Span
from gradlint.source.lower.syntax import parts
from gradlint.source.read import split_lines

_HEADED = frozenset(
    {
        *(cst.If, cst.Else, cst.For, cst.While, cst.With, cst.Try, cst.TryStar, cst.Finally),
        *(cst.FunctionDef, cst.ClassDef, cst.ExceptHandler, cst.ExceptStarHandler, cst.Match, cst.MatchCase),
    }
)
"""Statements and clauses that begin with a header and go on with other statements."""

_STATEMENTS = frozenset({*_HEADED, cst.SimpleStatementLine, cst.Decorator})
"""What occupies logical lines of its own; the small statements of `if x: y` belong to the row of the `if`."""


class Places:
    """The spans of the nodes of one module, and the rows of the statements in which they stand.

    libcst is asked about one statement of the top level at a time, when something is said about a node in it.
    """

    def __init__(self, module: cst.Module, rows: int = 0) -> None:
        """Take a module that stands after so many rows."""
        self._module = module
        self._offsets = [rows + sum(self._count(line) for line in module.header)]
        self._sheets: dict[int, _Sheet] = {}

    def __contains__(self, node: cst.CSTNode) -> bool:
        """Return whether the node stands in this module."""
        return id(node) in self._owners

    def span(self, node: cst.CSTNode) -> Span:
        """Return where the node stands; of a statement with a body, its header up to the colon."""
        return self._of(node).span(node)

    def whole(self, node: cst.CSTNode) -> Span:
        """Return all of the node, without the parentheses around an expression."""
        return self._of(node).whole(node)

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """Return the line of simple statements in which a node stands."""
        return self._of(node).statement(node)

    def is_statement(self, node: cst.CSTNode) -> bool:
        """Return whether a simple statement consists of a node."""
        return self._of(node).is_statement(node)

    def is_only_child(self, statement: cst.SimpleStatementLine) -> bool:
        """Return whether a block would be empty without the statement."""
        return any(len(block.body) == 1 and block.body[0] is statement for block in self._of(statement).blocks)

    def following(self, statement: cst.SimpleStatementLine) -> list[cst.BaseStatement]:
        """Return the statements of the same block after a statement."""
        bodies = [block.body for block in self._of(statement).blocks]
        for body in (*bodies, self._module.body):
            if statement in body:
                return [one for one in body[body.index(statement) + 1 :] if isinstance(one, cst.BaseStatement)]
        return []

    def after(self, node: cst.CSTNode) -> list[cst.BaseStatement]:
        """Return the lines of simple statements of a function, or of the module, that begin after a node's."""
        sheet = self._of(node)
        found = sheet.after(node)
        if sheet.function_around(node) is None:
            for later in self._module.body[self._owners[id(node)] + 1 :]:
                found += _outside_functions(later)
        return found

    def function_around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the innermost function in which a node stands, if it is no lambda."""
        return self._of(node).function_around(node)

    def rows(self, span: Span) -> tuple[int, int]:
        """Return the first and last row of the statement in which the span begins.

        A compound statement counts as its header, as Python's own logical lines do: a comment after a `def`
        says nothing about the body."""
        while self._offsets[-1] < span.start.row and len(self._offsets) <= len(self._module.body):
            self._offset(len(self._offsets))
        return self._sheet(bisect_left(self._offsets, span.start.row) - 1).rows(span)

    @cached_property
    def _owners(self) -> dict[int, int]:
        """Which statement of the top level each node belongs to, by the node's identity: libcst's hash is that, too."""
        found: dict[int, int] = {}
        for index, statement in enumerate(self._module.body):
            stack: list[cst.CSTNode] = [statement]
            while stack:
                node = stack.pop()
                found[id(node)] = index
                stack.extend(parts(node))
        return found

    def _offset(self, index: int) -> int:
        """Return how many rows stand before a statement of the top level, and the comments that belong to it."""
        for before in range(len(self._offsets) - 1, index):
            sheet = self._sheets.get(before)
            rows = self._count(self._module.body[before]) if sheet is None else sheet.number_of_rows
            self._offsets.append(self._offsets[-1] + rows)
        return self._offsets[index]

    def _count(self, node: cst.CSTNode) -> int:
        return len(split_lines(self._module.code_for_node(node))) - 1

    def _of(self, node: cst.CSTNode) -> _Sheet:
        index = self._owners.get(id(node))
        if index is None:
            raise AssertionError(f"rules report nodes of the module, which this {type(node).__name__} is not")
        return self._sheet(index)

    def _sheet(self, index: int) -> _Sheet:
        if index not in self._sheets:
            self._sheets[index] = _Sheet(self._module.body[index], self._module, self._offset(index))
        return self._sheets[index]


def _outside_functions(node: cst.CSTNode) -> Iterator[cst.SimpleStatementLine]:
    """Yield the lines of simple statements in a node, but for those of functions."""
    if isinstance(node, cst.SimpleStatementLine):
        yield node
    elif not isinstance(node, cst.FunctionDef):
        for part in parts(node):
            yield from _outside_functions(part)


_At: TypeAlias = "tuple[int, int]"
"""A row, from one, and a column, from zero."""


class _Writer(CodegenState):
    """What libcst writes a statement out into, to record where each node stands.

    The positions are those of libcst's `PositionProvider`, which also copies the tree and keeps an object for each
    place: half of the time.
    """

    def __init__(self, module: cst.Module) -> None:
        super().__init__(module.default_indent, module.default_newline)
        self.nodes: list[cst.CSTNode] = []
        self.ranges: dict[int, tuple[_At, _At]] = {}
        self.at: _At = (1, 0)
        self._begun: list[_At] = []

    def add_indent_tokens(self) -> None:
        for token in self.indent_tokens:
            self.add_token(token)

    def add_token(self, value: str) -> None:
        row, column = self.at
        if value.isprintable():
            self.at = row, column + len(value)
        else:
            lines = NEWLINE_RE.split(value)
            self.at = row + len(lines) - 1, len(lines[-1]) + (column if len(lines) == 1 else 0)

    def before_codegen(self, node: cst.CSTNode) -> None:
        self._begun.append(self.at)

    def after_codegen(self, node: cst.CSTNode) -> None:
        start = self._begun.pop()
        self.nodes.append(node)
        if id(node) not in self.ranges:  # Without the white space around it, if it has recorded that itself.
            self.ranges[id(node)] = start, self.at

    def record_syntactic_position(  # type: ignore[override]
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Recording:
        return _Recording(self, node, start_node, end_node)


class _Recording:
    """The part of a node without the white space around it, while it is written."""

    __slots__ = ("_end", "_node", "_start", "_start_node", "_writer")

    def __init__(self, writer: _Writer, node: cst.CSTNode, start: cst.CSTNode | None, end: cst.CSTNode | None) -> None:
        self._writer, self._node, self._start_node, self._end = writer, node, start, end

    def __enter__(self) -> None:
        self._start = self._writer.at

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        ranges = self._writer.ranges
        start = self._start if self._start_node is None else ranges[id(self._start_node)][0]
        ranges[id(self._node)] = start, self._writer.at if self._end is None else ranges[id(self._end)][1]


class _Sheet:
    """One statement of the top level, after so many rows."""

    def __init__(self, statement: cst.CSTNode, module: cst.Module, offset: int) -> None:
        writer = _Writer(module)
        statement._codegen(writer)
        self._nodes, self._ranges, self.number_of_rows = writer.nodes, writer.ranges, writer.at[0] - 1
        self._offset = offset
        self._wholes: dict[int, Span] = {}
        logical = [node for node in self._nodes if type(node) in _STATEMENTS]
        self._lines = [node for node in logical if type(node) is cst.SimpleStatementLine]
        rows = sorted((self.whole(node).start, self._last_row(node)) for node in logical)
        self._starts = [start for start, _ in rows]
        self._last_rows = [last for _, last in rows]

    @property
    def blocks(self) -> list[cst.IndentedBlock]:
        """All indented blocks in the statement."""
        return [node for node in self._nodes if isinstance(node, cst.IndentedBlock)]

    def span(self, node: cst.CSTNode) -> Span:
        whole = self.whole(node)
        return Span(whole.start, self._position(self._end_of_header(node))) if type(node) in _HEADED else whole

    def whole(self, node: cst.CSTNode) -> Span:
        if (known := self._wholes.get(id(node))) is not None:
            return known
        start, end = self._range(node)
        whole = self._wholes[id(node)] = Span(self._position(start), self._position(end))
        return whole

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        return next((line for line in self._lines if self._holds(line, node)), None)

    def is_statement(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.BaseSmallStatement):
            return True
        return any(isinstance(one, cst.Expr) and one.value is node for one in self._nodes)

    def after(self, node: cst.CSTNode) -> list[cst.BaseStatement]:
        at, scope = self.whole(node), self.function_around(node)
        return [one for one in self._lines if at.end < self.whole(one).start and self.function_around(one) is scope]

    def function_around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the innermost function around a node; None at the level of the module."""
        start = self.whole(node).start
        functions = (one for one in self._nodes if isinstance(one, cst.FunctionDef) and self._holds(one, node))
        around = [one for one in functions if self.whole(one).start < start]
        return max(around, key=lambda one: self.whole(one).start, default=None)

    def _holds(self, outer: cst.CSTNode, node: cst.CSTNode) -> bool:
        at, around = self.whole(node), self.whole(outer)
        return around.start <= at.start and at.end <= around.end

    def rows(self, span: Span) -> tuple[int, int]:
        at = bisect_right(self._starts, span.start) - 1
        if at < 0:
            return span.start.row, span.end.row
        return self._starts[at].row, max(self._last_rows[at], span.start.row)

    def _last_row(self, statement: cst.CSTNode) -> int:
        body = getattr(statement, "body", None)
        if type(body) is cst.SimpleStatementSuite:
            end = self._range(body)[1]
        else:
            end = self._end_of_header(statement) if type(statement) in _HEADED else self._range(statement)[1]
        return end[0] + self._offset

    def _end_of_header(self, statement: cst.CSTNode) -> _At:
        """Return where the header ends: the white space after the colon begins there."""
        if isinstance(statement, cst.Match):
            return self._range(statement.whitespace_after_colon)[0]
        body = getattr(statement, "body", None)
        if isinstance(body, cst.IndentedBlock):
            return self._range(body.header)[0]
        if isinstance(body, cst.SimpleStatementSuite):
            return self._range(body.leading_whitespace)[0]
        raise AssertionError(f"a header ends before a body, but this {type(statement).__name__} has none")

    def _range(self, node: cst.CSTNode) -> tuple[_At, _At]:
        found = self._ranges.get(id(node))
        if found is None:
            raise AssertionError(f"rules report nodes of the module, which this {type(node).__name__} is not")
        return found

    def _position(self, at: _At) -> Position:
        return Position(at[0] + self._offset, at[1] + 1)
