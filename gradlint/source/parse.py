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

from gradlint.domain.frozen import Frozen
from gradlint.source.lines import split_lines
from gradlint.source.python2 import find_python2
from gradlint.source.unusable import Unusable, invalid

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
    """Return the module, with every node once in the tree; never raises for what the text contains."""
    if "\0" in text:
        return _invalid_at(text, text.index("\0"), "the file contains a NUL byte, which Python refuses")
    if _may_be_deep(text):
        refusal = _refusal_of_cpython(text)
        if refusal is not None and refusal.too_deep:
            return refusal.unusable
    try:
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
        return refusal.unusable
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


class _Refusal(Frozen):
    unusable: Unusable
    too_deep: bool


def _refusal_of_cpython(text: str) -> _Refusal | None:
    """Return what the running Python says against the text; None if it accepts it."""
    try:
        with warnings.catch_warnings():
            # An invalid escape sequence warns; that is no business of ours.
            warnings.simplefilter("ignore")
            with _recursion_as_usual():
                _compile(text)
    except SyntaxError as error:
        return _Refusal(_refused(text, error), error.msg.startswith(("too many nested", "too many levels")))
    except (RecursionError, MemoryError):
        message = "the code is nested too deeply: Python cannot compile it, and gradlint does not read it"
        return _Refusal(invalid(message), too_deep=True)
    return None


def _compile(text: str) -> None:
    """Compile as far as the limits of depth need it: before 3.11 only the compiler has them for all chains."""
    if sys.version_info >= (3, 11):
        ast.parse(text)
    else:
        compile(text, "<unknown>", "exec", dont_inherit=True)


@contextmanager
def _recursion_as_usual() -> Iterator[None]:
    """CPython measures depth against the limit of recursion, which is raised while gradlint runs."""
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
