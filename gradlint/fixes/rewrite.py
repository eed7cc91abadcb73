"""New text for a stretch of source that keeps the rows, the indentation and the line ends of what stays."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from difflib import SequenceMatcher

import libcst as cst

from gradlint.domain.clock import look_at_clock
from gradlint.source.lower.syntax import code_of
from gradlint.source.read import LINE_END

_TOKEN = re.compile(r"\s+|\w+|[^\w\s]")
_FSTRING_START = getattr(tokenize, "FSTRING_START", None)
_FSTRING_END = getattr(tokenize, "FSTRING_END", None)


def rewritten(real: str, generated: str, wanted: str, newline: str) -> str:
    """Return the text `wanted`, where it agrees with `generated` in the white space of `real`.

    libcst writes a node without the indentation of the block in which it stands, and with its own line ends. So
    `generated`, the old node as libcst writes it, tells which parts of the real text the new one keeps.

    >>> rewritten("f(x.view(\\n        3,\\n    ))", "f(x.view(\\n    3,\\n))", "x.view(\\n    3,\\n)", "\\n")
    'x.view(\\n        3,\\n    )'
    """
    before, after, written = _TOKEN.findall(generated), _TOKEN.findall(wanted), _TOKEN.findall(real)
    if [word for word in before if word.strip()] != [word for word in written if word.strip()]:
        return wanted
    if len(before) != len(written):
        return wanted
    pieces: list[str] = []
    for kind, start, end, first, last in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            pieces += written[start:end]
        else:
            pieces += [re.sub(r"\r\n|\r|\n", newline, word) for word in after[first:last]]
    return "".join(pieces)


def bracketed(text: str, start: int, end: int, content: str) -> str:
    """Return the content in brackets, if in the place of a stretch of the text it would fall apart without them.

    Python's own parser is asked: brackets that change nothing are not in its tree. Where brackets cannot stand,
    there are none, as around a statement or the name after a dot.
    """
    if _is_unit(content) or _expression(f"({content})") is None:
        return content
    look_at_clock()  # To read the whole text for each fix may take long.
    enclosed = _tree(f"{text[:start]}({content}){text[end:]}")
    return content if enclosed is None or enclosed == _tree(text[:start] + content + text[end:]) else f"({content})"


def _is_unit(content: str) -> bool:
    """Return whether the content holds together in any place."""
    match _expression(content):
        case ast.Constant(True | False | None) | ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript():
            return True
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp():
            return True
    return content.startswith("(") and content.endswith(")") and _expression(content[1:-1]) is not None


def _expression(content: str) -> ast.expr | None:
    try:
        return ast.parse(content, mode="eval").body
    except SyntaxError:
        return None


def _tree(text: str) -> str | None:
    try:
        return ast.dump(ast.parse(text))
    except SyntaxError:
        return None


def in_place(name: str, value: cst.BaseExpression) -> str | None:
    """`name = value` as a write to what the name means; None where the value is not made of it.

    >>> in_place("w", cst.parse_expression("w - lr * w.grad"))
    'w -= lr * w.grad'
    """
    source = code_of(value)
    if re.search(rf"(?<![\w.]){name}(?!\w)", source) is None:
        return None
    if isinstance(value, cst.BinaryOperation) and isinstance(value.left, cst.Name) and value.left.value == name:
        sign = _SIGNS.get(type(value.operator))
        if sign is not None:
            return f"{name} {sign}= {code_of(value.right)}"
    return f"{name}.copy_({source})"


_SIGNS = {cst.Add: "+", cst.Subtract: "-", cst.Multiply: "*", cst.Divide: "/"}


def rows_to_indent(text: str) -> Iterator[int]:
    """Yield the rows, from zero, that an indentation of the whole text moves: not the first, none inside a string."""
    inside = _rows_inside_strings(text) if LINE_END.search(text) is not None else ()
    for row, line in enumerate(re.split(r"\r\n|\r|\n", text)):
        if row > 0 and row not in inside and line.strip():
            yield row


def indented(text: str, unit: str) -> str:
    """Return the text with its rows behind the first moved in."""
    rows = set(rows_to_indent(text))
    pieces = re.split(r"(\r\n|\r|\n)", text)
    return "".join(
        unit + piece if index % 2 == 0 and index // 2 in rows else piece for index, piece in enumerate(pieces)
    )


def _rows_inside_strings(text: str) -> set[int]:
    """Return the rows whose first letter belongs to a string that began above; within brackets, any text has tokens."""
    inside: set[int] = set()
    opened: list[int] = []
    for token in tokenize.generate_tokens(io.StringIO(f"({text}\n)").readline):
        if token.type == _FSTRING_START:
            opened.append(token.start[0])
        first = opened.pop() if token.type == _FSTRING_END else token.start[0]
        if token.type in (tokenize.STRING, _FSTRING_END):
            inside.update(range(first, token.end[0]))
    return inside
