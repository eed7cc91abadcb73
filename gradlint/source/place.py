"""Places of syntax nodes in the text.

libcst computes positions by writing the whole module out again, at the cost of about two parses. So this is
done once, and only for a file about which there is something to say."""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property

import libcst as cst
from libcst.metadata import CodePosition, CodeRange, MetadataWrapper, PositionProvider

from gradlint.domain.finding import Position, Span

_HEADED = (
    *(cst.If, cst.Else, cst.For, cst.While, cst.With, cst.Try, cst.TryStar, cst.Finally),
    *(cst.FunctionDef, cst.ClassDef, cst.ExceptHandler, cst.ExceptStarHandler, cst.Match, cst.MatchCase),
)
"""Statements and clauses that begin with a header and go on with other statements."""

_STATEMENTS = frozenset({*_HEADED, cst.SimpleStatementLine, cst.Decorator})
"""What occupies logical lines of its own; the small statements of `if x: y` belong to the row of the `if`."""


class Places:
    """The spans of the nodes of one module, and the rows of the statements in which they stand."""

    def __init__(self, module: cst.Module) -> None:
        # The parser puts each node into the tree once, so the copy that libcst would make is not needed.
        self._ranges = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
        logical = (node for node in self._ranges if type(node) in _STATEMENTS)
        rows = sorted((_position(self._range(node).start), self._last_row(node)) for node in logical)
        self._starts = [start for start, _ in rows]
        self._last_rows = [last for _, last in rows]

    def __contains__(self, node: cst.CSTNode) -> bool:
        """Whether the node stands in this module."""
        return node in self._ranges

    def span(self, node: cst.CSTNode) -> Span:
        """Where the node stands; of a statement with a body, its header up to the colon."""
        whole = self._range(node)
        end = self._end_of_header(node) if isinstance(node, _HEADED) else whole.end
        return Span(_position(whole.start), _position(end))

    def whole(self, node: cst.CSTNode) -> Span:
        """All of the node, without the parentheses around an expression."""
        whole = self._range(node)
        return Span(_position(whole.start), _position(whole.end))

    def statement(self, node: cst.CSTNode) -> cst.SimpleStatementLine | None:
        """The line of simple statements in which a node stands."""
        at = self.whole(node)
        index = bisect_right(self._simple_starts, at.start) - 1
        if index < 0:
            return None
        line = self._simple[index][1]
        return line if at.end <= self.whole(line).end else None

    def is_statement(self, node: cst.CSTNode) -> bool:
        """Whether a simple statement consists of a node."""
        at = self.whole(node)
        index = bisect_right(self._small_starts, at.start) - 1
        around = self._small[index][1] if index >= 0 else None
        return around is node or (isinstance(around, cst.Expr) and around.value is node)

    def is_only_child(self, statement: cst.SimpleStatementLine) -> bool:
        """Whether a block would be empty without the statement."""
        blocks = (node for node in self._ranges if isinstance(node, cst.IndentedBlock))
        return any(len(block.body) == 1 and block.body[0] is statement for block in blocks)

    def following(self, statement: cst.SimpleStatementLine) -> list[cst.BaseStatement]:
        """The statements of the same block behind a statement."""
        for block in self._ranges:
            if isinstance(block, (cst.IndentedBlock, cst.Module)) and statement in block.body:
                rest = block.body[block.body.index(statement) + 1 :]
                return [one for one in rest if isinstance(one, cst.BaseStatement)]
        return []

    def behind(self, node: cst.CSTNode) -> list[cst.BaseStatement]:
        """The statements of a function, or of the module, that begin behind the statement of a node."""
        at = self.whole(node)
        scope = self._scope(at)
        statements = [one for one in self._ranges if isinstance(one, cst.SimpleStatementLine)]
        return [one for one in statements if at.end < self.whole(one).start and self._scope(self.whole(one)) is scope]

    def _scope(self, at: Span) -> cst.CSTNode | None:
        """The innermost function around a place; None at the level of the module."""
        functions = [one for one in self._ranges if isinstance(one, cst.FunctionDef)]
        around = [one for one in functions if self.whole(one).start < at.start and at.end <= self.whole(one).end]
        return max(around, key=lambda one: self.whole(one).start, default=None)

    @cached_property
    def _simple(self) -> list[tuple[Position, cst.SimpleStatementLine]]:
        lines = (node for node in self._ranges if isinstance(node, cst.SimpleStatementLine))
        return sorted(((self.whole(line).start, line) for line in lines), key=lambda pair: pair[0])

    @cached_property
    def _small(self) -> list[tuple[Position, cst.BaseSmallStatement]]:
        small = (node for node in self._ranges if isinstance(node, cst.BaseSmallStatement))
        return sorted(((self.whole(one).start, one) for one in small), key=lambda pair: pair[0])

    @cached_property
    def _small_starts(self) -> list[Position]:
        return [start for start, _ in self._small]

    @cached_property
    def _simple_starts(self) -> list[Position]:
        return [start for start, _ in self._simple]

    def rows(self, span: Span) -> tuple[int, int]:
        """The first and last row of the statement in which the span begins.

        A compound statement counts as its header, as Python's own logical lines do: a comment behind a `def`
        says nothing about the body."""
        at = bisect_right(self._starts, span.start) - 1
        if at < 0:
            return span.start.row, span.end.row
        return self._starts[at].row, max(self._last_rows[at], span.start.row)

    def _last_row(self, statement: cst.CSTNode) -> int:
        body = getattr(statement, "body", None)
        if isinstance(body, cst.SimpleStatementSuite):
            return self._range(body).end.line
        if isinstance(statement, _HEADED):
            return self._end_of_header(statement).line
        return self._range(statement).end.line

    def _end_of_header(self, statement: cst.CSTNode) -> CodePosition:
        """The white space behind the colon begins where the header ends."""
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


def _position(position: CodePosition) -> Position:
    return Position(position.line, position.column + 1)
