"""A program as text, one statement to a line, each line with the rows of the file that it came from."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from typing import NamedTuple

from gradlint.confirm.prepare.syntax import blocks_of

Rows = tuple[int, int]
"""First and last row of the checked file; (0, 0) for what was made up."""

_MADE_UP: Rows = (0, 0)


class Line(NamedTuple):
    """One line of a repro. Its `note` is a comment for people."""

    text: str
    rows: Rows = _MADE_UP


class Script(NamedTuple):
    """A program to execute."""

    lines: tuple[Line, ...]

    @property
    def text(self) -> str:
        """The source."""
        return "".join(f"{line.text}\n" for line in self.lines)

    def origin(self, number: int) -> Rows:
        """Return the rows of the file from which a line, counted from 1, comes."""
        return self.lines[number - 1].rows if 0 < number <= len(self.lines) else _MADE_UP

    def numbers_of(self, rows: Iterable[int]) -> tuple[int, ...]:
        """Return the lines that stand for any of the rows."""
        wanted = set(rows)
        lines = enumerate(self.lines, 1)
        return tuple(number for number, line in lines if any(line.rows[0] <= row <= line.rows[1] for row in wanted))


def render(body: Sequence[ast.stmt]) -> Script:
    """Return the statements as text, one to a line."""
    return Script(tuple(_block(body, 0)))


def rows_of(statement: ast.stmt) -> Rows:
    """Return where the header of a statement stands in the file: all of it, if it has no body."""
    first = getattr(statement, "lineno", 0)
    decorators = getattr(statement, "decorator_list", ())
    start = min([first, *(decorator.lineno for decorator in decorators)])
    inner = [row for block in blocks_of(statement) for part in block if (row := getattr(part, "lineno", 0))]
    last = max(first, min(inner) - 1) if inner else getattr(statement, "end_lineno", None) or first
    return start, max(start, last)


def _block(body: Sequence[ast.stmt], depth: int) -> Iterator[Line]:
    for statement in body:
        yield from _statement(statement, depth)
    if not body:
        yield Line("    " * depth + "pass")


def _statement(statement: ast.stmt, depth: int) -> Iterator[Line]:
    indent = "    " * depth
    rows = rows_of(statement)
    if isinstance(statement, ast.Try):
        yield from _try(statement, depth)
        return
    for decorator in getattr(statement, "decorator_list", ()):
        yield Line(f"{indent}@{ast.unparse(decorator)}", rows)
    if not hasattr(statement, "body"):
        text = ast.unparse(statement)
        # Only a string of several lines is written on several.
        yield from (Line((indent if number == 0 else "") + part, rows) for number, part in enumerate(text.split("\n")))
        return
    yield Line(indent + _header(statement), rows)
    yield from _block(statement.body, depth + 1)
    if getattr(statement, "orelse", ()):
        yield Line(f"{indent}else:")
        yield from _block(statement.orelse, depth + 1)  # type: ignore[attr-defined]


def _header(statement: ast.stmt) -> str:
    """Return the line that ends in a colon."""
    bare = copy(statement)
    bare.body = [ast.Pass()]  # type: ignore[attr-defined]
    for name in ("orelse", "decorator_list"):
        if hasattr(bare, name):
            setattr(bare, name, [])
    return ast.unparse(bare).rpartition("\n")[0]


def _try(statement: ast.Try, depth: int) -> Iterator[Line]:
    """Yield blocks below headers of their own; `match` and `except*` do not pass the gate."""
    indent = "    " * depth
    yield Line(f"{indent}try:", rows_of(statement))
    yield from _block(statement.body, depth + 1)
    for handler in statement.handlers:
        kind = f" {ast.unparse(handler.type)}" if handler.type else ""
        name = f" as {handler.name}" if handler.name else ""
        yield Line(f"{indent}except{kind}{name}:")
        yield from _block(handler.body, depth + 1)
    for word, block in (("else", statement.orelse), ("finally", statement.finalbody)):
        if block:
            yield Line(f"{indent}{word}:")
            yield from _block(block, depth + 1)


def with_marks(script: Script, numbers: Collection[int], name: str) -> Script:
    """Return the program with a list that is longer after the run if one of the lines was executed.

    A definition is executed when a function in it is called.
    """
    lines = [Line(f"{name} = []")]
    inside: list[int] = []
    for number, line in enumerate(script.lines, 1):
        depth = indent_of(line.text)
        inside = [outer for outer in inside if outer < depth]
        word = line.text.lstrip().partition(" ")[0]
        chosen = number in numbers
        if chosen and not word.startswith("@") and word not in ("def", "class"):
            lines.append(Line(f"{' ' * depth}{name}.append({number})"))
        lines.append(line)
        if word in ("def", "class") and (chosen or inside):
            inside.append(depth)
        if word == "def" and inside:
            lines.append(Line(f"{' ' * (depth + 4)}{name}.append({number})"))
    return Script(tuple(lines))


def unused_name(name: str, text: str) -> str:
    """Return a name like the one given that does not stand anywhere in a program, not even in a text."""
    found = name
    while found in text:
        found += "_"
    return found


def spaced(lines: Sequence[str]) -> str:
    """Return the lines as readable text: two blank lines around a top-level definition, one around a method."""
    text: list[str] = []
    for line, before in zip(lines, ["", *lines], strict=False):
        depth, former = indent_of(line), indent_of(before)
        starts = line.lstrip().startswith(("def ", "class ", "@")) and not before.lstrip().startswith("@")
        opened = before.endswith(":") and former < depth
        if text and not opened and ((starts and depth <= 4) or (depth == 0 and former > 0 and _in_definition(text))):
            text.extend(["", ""] if depth == 0 else [""])
        text.append(line)
    return "\n".join(text) + "\n"


def _in_definition(lines: Sequence[str]) -> bool:
    """Return whether the last block at the top level is a definition."""
    head = next((line for line in reversed(lines) if line and not line.startswith(" ")), "")
    return head.startswith(("def ", "class "))


def indent_of(line: str) -> int:
    """Return the width of the space before a line."""
    return len(line) - len(line.lstrip())
