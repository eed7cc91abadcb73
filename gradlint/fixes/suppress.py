"""Write comments that silence findings, where the rows of their statements have room for one."""

from __future__ import annotations

import ast
import re
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterator, Sequence

from gradlint.domain.finding import Finding
from gradlint.source.comments import strings
from gradlint.source.read import LINE_END, rows_and_ends
from gradlint.source.suppressions import Comment, comments

_REMARKS = ("GRD001", "GRD002", "GRD003", "GRD005")
"""What is about the file or its comments: no comment at a statement is right for it."""


def suppressed(text: str, findings: Sequence[Finding]) -> str:
    """Return the text with a comment for each finding that can have one; the text itself if that changes the program.

    A row takes no comment whose end stands in a string or after a backslash; then another row of the statement does.
    The codes join a list that is there.
    """
    taken = {row: one for one in comments(text) if _is_list(one) for row in [one.row]}
    shut = _shut_rows(text)
    wanted: dict[int, set[str]] = defaultdict(set)
    for finding in findings:
        row = next((row for row in _rows(finding, taken) if row not in shut), None)
        if row is not None and finding.code not in _REMARKS:
            wanted[row].add(finding.code)
    rows, ends = rows_and_ends(text)
    for row, codes in wanted.items():
        rows[row - 1] = _with_comment(rows[row - 1], sorted(codes), taken.get(row))
    new = "".join(row + end for row, end in zip(rows, ends, strict=True))
    return new if _tree(new) == _tree(text) else text


def _is_list(comment: Comment) -> bool:
    return comment.ours and bool(comment.words) and comment.verb == "ignore" and not comment.alone


def _rows(finding: Finding, taken: dict[int, Comment]) -> Iterator[int]:
    """Yield the rows in which a comment counts, the best first: with a list, the finding's own, then upwards."""
    first, last = finding.lines
    every = range(last, first - 1, -1)
    yield from (row for row in every if row in taken)
    if finding.span.start.row in every:
        yield finding.span.start.row
    yield from every


def _shut_rows(text: str) -> set[int]:
    """Return the rows whose ends stand in a string or after a backslash."""
    starts = [0, *(found.end() for found in LINE_END.finditer(text))]
    shut = {bisect_right(starts, found.start()) for found in re.finditer(r"\\(?=\r\n|\r|\n|$)", text)}
    for start, end in strings(text):
        shut.update(range(bisect_right(starts, start), bisect_right(starts, end - 1)))
    return shut


def _with_comment(row: str, codes: Sequence[str], known: Comment | None) -> str:
    if known is None:
        return f"{row.rstrip()}  # gradlint: ignore[{', '.join(codes)}]"
    there = [word.text for word in known.words]
    more = "".join(f", {code}" for code in codes if code not in there)
    end = known.words[-1].end
    return row[:end] + more + row[end:]


def _tree(text: str) -> str | None:
    """Return the program without its comments; None for what is no program."""
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
