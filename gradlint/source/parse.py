"""Turn text into a libcst module, or into one clear statement of why it is none."""

from __future__ import annotations

import ast
import itertools
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

import libcst as cst

from gradlint.source.deep import allow_deep_syntax
from gradlint.source.length import LONGEST, has_deep_patterns, is_too_long
from gradlint.source.nodes import made_fast
from gradlint.source.read import Unusable, invalid, split_lines, unreadable

allow_deep_syntax()

MAX_BRACKETS = 200
"""CPython's tokenizer refuses deeper brackets (MAXLEVEL), so a program that runs never has them."""

USUAL_RECURSION = 1_000
"""What Python starts with, and so what decides which programs it compiles."""

LONG_STATEMENT = 5_000
MANY_LEVELS = 100
MANY_ELIFS = 1_000
"""Texts with longer statements, deeper blocks, or more branches are shown to CPython first: it refuses deep nesting, on
which libcst's parser takes time in the cube of the depth and in the end overruns the stack. CPython's parser costs a
twelfth of libcst's."""

_NOT_BRACKETS = bytes(set(range(256)) - set(b"()[]{}"))


def parse(text: str) -> cst.Module | Unusable:
    """Return the module, with every node but blanks once in the tree; never raises for what the text contains."""
    if is_too_long(text):
        return unreadable(f"the program is too long: it has more than {LONGEST:,} words, signs, and rows")
    if has_deep_patterns(text):
        return unreadable("the patterns of a `case` are nested too deeply to be read")
    if "\0" in text:
        return _invalid_at(text, text.index("\0"), "the file contains a NUL byte, which Python refuses")
    if _may_be_deep(text):
        refusal = _refusal_of_cpython(text)
        if refusal is not None and refusal[1]:
            return refusal[0]
    try:
        with made_fast(validated=not text.isascii()):
            return cst.parse_module(text)
    except (cst.ParserSyntaxError, cst.CSTValidationError) as error:
        # The second: libcst's tokenizer knows other letters of Unicode than the Python it runs under.
        return _explain(text, error)
    except UnicodeEncodeError as error:
        return _invalid_at(text, error.start, "the file contains half of a surrogate pair, which Python refuses")


def _invalid_at(text: str, offset: int, message: str) -> Unusable:
    return invalid(message, text.count("\n", 0, offset) + 1, offset - text.rfind("\n", 0, offset))


def _explain(text: str, error: Exception) -> Unusable:
    """Prefer CPython's words and place: people know them, and they are better."""
    refusal = _refusal_of_cpython(text)
    if refusal is not None:
        return refusal[0]
    reason, row, column = str(error), 1, 1
    if isinstance(error, cst.ParserSyntaxError):
        reason, row, column = (error.message.partition(": expected one of")[0], error.raw_line, error.raw_column + 1)
    message = f"Python accepts this file, but the parser of gradlint (libcst) does not: {reason}"
    return invalid(message, row, column)


def _may_be_deep(text: str) -> bool:
    if bracket_depth(text) > MAX_BRACKETS or text.count("elif") > MANY_ELIFS or _INDENTED.search(text):
        return True
    return len(text) > LONG_STATEMENT and _has_long_statement(text)


_INDENTED = re.compile(rf"^[ \t]{{{MANY_LEVELS}}}", re.MULTILINE)


def _has_long_statement(text: str) -> bool:
    """Return an estimate, found fast: a bracket in a string may hold a statement open, which errs to the safe side."""
    depth = length = 0
    for line in split_lines(text):
        length += len(line)
        if length > LONG_STATEMENT:
            return True
        for bracket in line.encode("ascii", "ignore").translate(None, _NOT_BRACKETS):
            depth += 1 if bracket in b"([{" else -1
        if depth <= 0 and not line.endswith("\\"):
            depth = length = 0
    return False


def bracket_depth(text: str) -> int:
    """Return an estimate of how deep brackets nest, found fast: those in strings and comments count as well."""
    brackets = text.encode("ascii", "ignore").translate(None, _NOT_BRACKETS)
    steps = (1 if bracket in b"([{" else -1 for bracket in brackets)
    return max(itertools.accumulate(steps), default=0)


def refusal_of_parser(text: str) -> Unusable | None:
    """Return what Python's own parser says against a text; None if it is a program, or one with `await` outside."""
    if "\0" in text:
        return _invalid_at(text, text.index("\0"), "the file contains a NUL byte, which Python refuses")
    try:
        refusal = _refusal_of_cpython(text)
    except UnicodeEncodeError as error:
        return _invalid_at(text, error.start, "the file contains half of a surrogate pair, which Python refuses")
    return None if refusal is None else refusal[0]


def refusal_of_compiler(text: str) -> Unusable | None:
    """Return what Python's compiler says against a text that parses, as of `x = *y`; None if it compiles it."""
    refusal = _refusal_of_cpython(text, compiles=True)
    return None if refusal is None else refusal[0]


def _refusal_of_cpython(text: str, *, compiles: bool = False) -> tuple[Unusable, bool] | None:
    """Return what the running Python says against the text, and whether that is too deep; None if it accepts it."""
    try:
        with warnings.catch_warnings():
            # An invalid escape sequence warns; that is no business of ours.
            warnings.simplefilter("ignore")
            with recursion_as_usual():
                _compile(text, compiles)
    except SyntaxError as error:
        return _refused(text, error), error.msg.startswith(("too many nested", "too many levels"))
    except (RecursionError, MemoryError):
        return invalid("the code is nested too deeply: Python cannot compile it, and gradlint does not read it"), True
    return None


def _compile(text: str, compiles: bool) -> None:
    """Parse, and compile where that is asked for, or only the compiler limits the depth of all chains: before 3.11."""
    if sys.version_info >= (3, 11) and not compiles:
        ast.parse(text)
    else:
        compile(text, "<unknown>", "exec", dont_inherit=True)


@contextmanager
def recursion_as_usual() -> Iterator[None]:
    """Lower the limit of recursion, against which CPython measures depth, and which is raised while gradlint runs."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(min(limit, USUAL_RECURSION))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)


def _refused(text: str, error: SyntaxError) -> Unusable:
    row, column = error.lineno or 1, error.offset or 1
    old = find_python2(text, row)
    if error.msg == "too many nested parentheses":
        message = f"{error.msg}: Python allows {MAX_BRACKETS}"
    elif old is not None:
        spelling, row_of_old = old
        where = "" if row_of_old == row else f" in line {row_of_old}"
        message = f"this is Python 2 ({spelling}{where}), and gradlint reads Python 3: {error.msg}"
    else:
        message = error.msg
    return invalid(message, row, column)


_PRINT = re.compile(r"""^\s*(?:[^#'"]*:\s*)?print(?:\s+[\w"'`~-](?!\s*[=:,)\]])|\s*["'`]|\s+\(.*\)\s*[%,]|\s*>>)""")
_SPELLINGS = (
    ("a print statement", _PRINT),
    ("a print statement", re.compile(r"""^\s*(?:[^#'"]*:\s*)?print\s+[^\s(=.,:\])]""")),
    ("an exec statement", re.compile(r"""^\s*exec\s+[^\s(=.,:\])]""")),
    ("`except X, e`", re.compile(r"^\s*except\s+[^:]+,\s*\w+\s*:")),
    ("`raise E, value`", re.compile(r"^\s*raise\s+[\w.]+\s*,")),
    ("`<>`", re.compile(r"""^[^#'"]*<>""")),
    ("backticks", re.compile(r"""^[^#'"]*`[^`]+`""")),
    ("an octal number without `o`", re.compile(r"""^[^#'"]*\b0[0-7]+\b(?!\.)""")),
    ("a long number", re.compile(r"""^[^#'"]*\b\d+[lL]\b""")),
    ("a `ur` string", re.compile(r"""^[^#'"]*\b[uU][rR]['"]""")),
    ("a tuple parameter", re.compile(r"^\s*def\s+\w+\s*\(.*\(\s*\w+\s*,.*\)")),
    ("a tuple parameter", re.compile(r"^.*\blambda\s*\(")),
)


def find_python2(text: str, refused_row: int) -> tuple[str, int] | None:
    """Return what is Python 2 about the text, and in which row; None if nothing speaks for it.

    The refused row may hold any of the old spellings; elsewhere only a print statement counts, since it alone
    is unmistakable. Ask only about a file that does not parse: a docstring may hold old code in a good file.
    """
    lines = split_lines(text)
    refused = lines[refused_row - 1] if refused_row <= len(lines) else ""
    for spelling, pattern in _SPELLINGS:
        if pattern.match(refused):
            return spelling, refused_row
    for row, line in enumerate(lines, start=1):
        if _PRINT.match(line):
            return "a print statement", row
    return None
