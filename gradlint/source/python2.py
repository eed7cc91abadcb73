"""Recognise Python 2 in a file that Python 3 refuses."""

from __future__ import annotations

import re

from gradlint.source.lines import split_lines

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
