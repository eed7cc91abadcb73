"""Places of syntax nodes in the text.

libcst computes positions by writing syntax out again, at the cost of about two parses. So this is done only for a file
about which there is something to say, and there only for the statements of the top level that it is about.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Mapping
from functools import cached_property

import libcst as cst
from libcst.metadata import CodePosition, CodeRange, PositionProvider
from libcst.metadata.position_provider import PositionProvidingCodegenState

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
        return node in self._owners

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
            for later in self._module.body[self._owners[node] + 1 :]:
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
    def _owners(self) -> dict[cst.CSTNode, int]:
        """Which statement of the top level each node belongs to."""
        found: dict[cst.CSTNode, int] = {}
        for index, statement in enumerate(self._module.body):
            stack: list[cst.CSTNode] = [statement]
            while stack:
                node = stack.pop()
                found[node] = index
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
        index = self._owners.get(node)
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


class _Positions(PositionProvider):
    """libcst's positions without its wrapper, which copies the tree, and walks over it for others than this one.

    The parser puts each node into the tree once, so the copy is not needed.
    """

    def of(self, statement: cst.CSTNode, module: cst.Module) -> tuple[Mapping[cst.CSTNode, object], int]:
        """Return where each node of a statement of the top level stands, and how many rows it has."""
        state = PositionProvidingCodegenState(module.default_indent, module.default_newline, provider=self)
        statement._codegen(state)
        return self._computed, state.line - 1


class _Sheet:
    """One statement of the top level, after so many rows."""

    def __init__(self, statement: cst.CSTNode, module: cst.Module, offset: int) -> None:
        self._ranges, self.number_of_rows = _Positions().of(statement, module)
        self._offset = offset
        self._wholes: dict[int, Span] = {}
        logical = (node for node in self._ranges if type(node) in _STATEMENTS)
        rows = sorted((self.whole(node).start, self._last_row(node)) for node in logical)
        self._starts = [start for start, _ in rows]
        self._last_rows = [last for _, last in rows]

    @property
    def blocks(self) -> list[cst.IndentedBlock]:
        """All indented blocks in the statement."""
        return [node for node in self._ranges if isinstance(node, cst.IndentedBlock)]

    def span(self, node: cst.CSTNode) -> Span:
        whole = self.whole(node)
        return Span(whole.start, self._position(self._end_of_header(node))) if type(node) in _HEADED else whole

    def whole(self, node: cst.CSTNode) -> Span:
        if (known := self._wholes.get(id(node))) is not None:
            return known
        found = self._range(node)
        whole = self._wholes[id(node)] = Span(self._position(found.start), self._position(found.end))
        return whole

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        return next((line for line in self._lines if self._holds(line, node)), None)

    def is_statement(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.BaseSmallStatement):
            return True
        return any(isinstance(one, cst.Expr) and one.value is node for one in self._ranges)

    def after(self, node: cst.CSTNode) -> list[cst.BaseStatement]:
        at, scope = self.whole(node), self.function_around(node)
        return [one for one in self._lines if at.end < self.whole(one).start and self.function_around(one) is scope]

    def function_around(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """Return the innermost function around a node; None at the level of the module."""
        start = self.whole(node).start
        functions = (one for one in self._ranges if isinstance(one, cst.FunctionDef) and self._holds(one, node))
        around = [one for one in functions if self.whole(one).start < start]
        return max(around, key=lambda one: self.whole(one).start, default=None)

    def _holds(self, outer: cst.CSTNode, node: cst.CSTNode) -> bool:
        at, around = self.whole(node), self.whole(outer)
        return around.start <= at.start and at.end <= around.end

    @cached_property
    def _lines(self) -> list[cst.SimpleStatementLine]:
        return [node for node in self._ranges if type(node) is cst.SimpleStatementLine]

    def rows(self, span: Span) -> tuple[int, int]:
        at = bisect_right(self._starts, span.start) - 1
        if at < 0:
            return span.start.row, span.end.row
        return self._starts[at].row, max(self._last_rows[at], span.start.row)

    def _last_row(self, statement: cst.CSTNode) -> int:
        body = getattr(statement, "body", None)
        if type(body) is cst.SimpleStatementSuite:
            end = self._range(body).end
        else:
            end = self._end_of_header(statement) if type(statement) in _HEADED else self._range(statement).end
        return end.line + self._offset

    def _end_of_header(self, statement: cst.CSTNode) -> CodePosition:
        """Return where the header ends: the white space after the colon begins there."""
        if isinstance(statement, cst.Match):
            return self._range(statement.whitespace_after_colon).start
        body = getattr(statement, "body", None)
        if isinstance(body, cst.IndentedBlock):
            return self._range(body.header).start
        if isinstance(body, cst.SimpleStatementSuite):
            return self._range(body.leading_whitespace).start
        raise AssertionError(f"a header ends before a body, but this {type(statement).__name__} has none")

    def _range(self, node: cst.CSTNode) -> CodeRange:
        found = self._ranges.get(node)
        if not isinstance(found, CodeRange):
            raise AssertionError(f"rules report nodes of the module, which this {type(node).__name__} is not")
        return found

    def _position(self, position: CodePosition) -> Position:
        return Position(position.line + self._offset, position.column + 1)
