"""IPython's additions to Python: `%magic`, `!shell`, `help?` and cells that begin with `%%`.

IPython's own rewriting is not used: it moves columns and rows, cannot be undone, and takes IPython. Here each row stays
one row, and code keeps its columns. A magic stands at the start of a statement; a scan finds the rows that begin one.
"""

from __future__ import annotations

import ast
import re
import warnings

from gradlint.source.documents.stand_ins import StandIns
from gradlint.source.read import rows_and_ends

PYTHON_CELLS = frozenset(
    {"capture", "debug", "heat", "ipytest", "lprun", "memit", "mprun", "notify", "prun", "px", "scalene", "snakeviz"}
    | {"time", "timeit", "wandb"}
)
"""Cell magics that run the cell as Python, in the notebook's own process."""

_CELL_MAGIC = re.compile(r"%%(?P<name>\w+)")
_MAY_HAVE_MAGICS = re.compile(r"^[ \t]*(?:[%!?/,;]|[a-z_]+ +\S)|=[ \t]*[%!]|\?[ \t]*$", re.MULTILINE)
_LINE = re.compile(r"([ \t]*)((?:[%!?]|[/,;](?=[\w.])).*)", re.DOTALL)
_HELP = re.compile(r"([ \t]*)([^#'\"\s][^#'\"]*\?[ \t]*)")
_ASSIGNED = re.compile(r"([^=#'\"()]*[^ \t=#'\"()!<>+*/%&|^@:-][ \t]*=[ \t]*)([%!].*)", re.DOTALL)
_AUTOMAGIC = re.compile(
    r"([ \t]*)((?:pip3?|conda|mamba|uv|cd|ls|ll|cat|cp|mv|rm|mkdir|rmdir|man|pylab|load_ext)[ ]+\S.*)"
)
_TIMED = re.compile(r"([ \t]*)(%(?:time|timeit|prun|memit)[ ]+)([^-\s].*)")

UNKNOWN = "get_ipython()"
"""What a magic returns is not known; the name is IPython's own."""


def python_of(source: str, stand_ins: StandIns) -> str | None:
    """Return the rows of a cell as Python; None for a cell in another language."""
    rows, ends = rows_and_ends(source)
    first = next((number for number, row in enumerate(rows) if row.strip()), 0)
    if (magic := _CELL_MAGIC.match(rows[first].lstrip())) is not None:
        if magic["name"] not in PYTHON_CELLS:
            return None
        rows[first] = stand_ins.put("", rows[first], "")
    if _MAY_HAVE_MAGICS.search(source):
        _replace(rows, first if magic is None else first + 1, stand_ins)
    return "".join(row + end for row, end in zip(rows, ends, strict=True))


def _replace(rows: list[str], start: int, stand_ins: StandIns) -> None:
    """Put Python in the place of each magic."""
    while start < len(rows):
        if (replaced := _python_row(rows, start, stand_ins)) is None:
            start = _end_of_statement(rows, start)
            continue
        continued = rows[start].endswith("\\")
        rows[start] = replaced
        start += 1
        while continued and start < len(rows):
            continued = rows[start].endswith("\\")
            rows[start] = stand_ins.put("", rows[start], "")
            start += 1


def _python_row(rows: list[str], start: int, stand_ins: StandIns) -> str | None:
    """Return what stands for a row that begins a statement; None if it is Python.

    Where a statement ends is asked only of rows that look like a magic: a shell command may open what nothing closes.
    """
    row = rows[start]
    timed = _TIMED.fullmatch(row)
    if timed is not None and _is_python(timed[3]):
        return stand_ins.put(timed[1], timed[2], _always(len(timed[2])), timed[3])
    if (found := _LINE.fullmatch(row)) is not None:
        return stand_ins.put(found[1], found[2], "pass")
    if (found := _ASSIGNED.fullmatch(row)) is not None:
        return stand_ins.put(found[1], found[2], UNKNOWN)
    if (found := _HELP.fullmatch(row)) is None:
        found = _AUTOMAGIC.fullmatch(row)
        if found is None or _is_python(row.strip()):
            return None
    return stand_ins.put(found[1], found[2], "pass") if _end_of_statement(rows, start) == start + 1 else None


def _always(width: int) -> str:
    """Return the head of a statement that is always executed, of at least six letters: the code keeps its column."""
    return f"if{' ' * (width - 5)}1: "


def _is_python(text: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


_TOKEN = re.compile(r"#.*|'''|\"\"\"|'(?:[^'\\]|\\.)*'?|\"(?:[^\"\\]|\\.)*\"?|[(\[{]|[)\]}]")
_CLOSING = {quote: re.compile(rf"(?:[^\\]|\\.)*?{quote}") for quote in ("'''", '"""')}


def _end_of_statement(rows: list[str], start: int) -> int:
    """Return the row after the statement, or the header of a block, that begins in a row."""
    depth, quote = 0, ""
    for number in range(start, len(rows)):
        row, at = rows[number], 0
        while at < len(row):
            found = _CLOSING[quote].match(row, at) if quote else _TOKEN.search(row, at)
            if found is None:
                break
            token, at = found[0], found.end()
            if quote:
                quote = ""
            elif token in _CLOSING:
                quote = token
            elif token in "([{":
                depth += 1
            elif token in ")]}":
                depth -= 1
        if not quote and depth <= 0 and not row.endswith("\\"):
            return number + 1
    return len(rows)
