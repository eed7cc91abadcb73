"""What comments silence, and which of them silence nothing."""

from __future__ import annotations

import io
import tokenize
from collections.abc import Iterator, Sequence

from gradlint.domain.finding import Edit, Finding, Fix, Position, Span
from gradlint.domain.frozen import Frozen
from gradlint.rules.base import Rule
from gradlint.rules.files.unused_suppression import UnusedSuppression
from gradlint.rules.house import prefix_of
from gradlint.settings.config import Config
from gradlint.source.read import split_lines
from gradlint.source.suppressions import Listed, Suppressions, listed

OUT_OF_STEPS = "out of steps"
"""What the interpreter counts when it gives up a part of the file: what it would have found there is not known."""

_OURS = "GRD"


class Silencing(Frozen):
    """The comments of one file, for the rules that judged it.

    `complete`: the whole file was judged, so that a comment that silences nothing is known to be needless.
    """

    known: Sequence[Rule]
    selected: Sequence[Rule]
    complete: bool

    def apply(
        self, found: tuple[Finding, ...], text: str, filename: str, config: Config
    ) -> tuple[tuple[Finding, ...], int]:
        """Return the findings that remain, with one for each comment that silences nothing; and how many do not."""
        if config.ignore_noqa:
            return found, 0
        unused = tuple(self._unused(found, text, filename))
        if not found and not unused:
            return (), 0
        suppressions = Suppressions.read(text)
        kept = [finding for finding in (*found, *unused) if not suppressions.cover(finding)]
        return tuple(sorted(kept, key=lambda finding: finding.sort_key)), len(found) + len(unused) - len(kept)

    def _unused(self, found: tuple[Finding, ...], text: str, filename: str) -> Iterator[Finding]:
        rule = next((rule for rule in self.selected if isinstance(rule, UnusedSuppression)), None)
        if rule is None or not self.complete:
            return
        for comment in listed(text):
            needless = [code for code, _, _ in comment.codes if self._is_needless(code, comment, found)]
            if needless and _is_comment(text, comment):
                yield _finding(rule, comment, needless, text, filename)

    def _is_needless(self, code: str, comment: Listed, found: tuple[Finding, ...]) -> bool:
        """Return whether a code is ours, and all its rules judged the file and found nothing that it silences."""
        if prefix_of(code) not in {prefix_of(rule.code) for rule in self.known} | {_OURS}:
            return False
        selected = {rule.code for rule in self.selected}
        meant = [rule for rule in self.known if rule.code.startswith(code)]
        off = [rule for rule in meant if rule.code not in selected]
        if any(rule.default for rule in off) or (meant and len(off) == len(meant)):
            return False
        return not any(
            finding.code.startswith(code)
            and (comment.whole_file or finding.lines[0] <= comment.row <= finding.lines[1])
            for finding in found
        )


def _is_comment(text: str, comment: Listed) -> bool:
    """Return whether it is a comment for Python, too, and no part of a string."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return any(
        token.type == tokenize.COMMENT and token.start[0] == comment.row and token.start[1] <= comment.start
        for token in tokens
    )


def _finding(rule: Rule, comment: Listed, needless: list[str], text: str, filename: str) -> Finding:
    names = ", ".join(f"`{code}`" for code in needless)
    return Finding(
        code=rule.code,
        name=rule.name,
        message=f"this comment silences {names}, of which there is nothing to silence here",
        severity=rule.severity,
        effect=rule.effect,
        filename=filename,
        span=Span(Position(comment.row, comment.start + 1), Position(comment.row, comment.end + 1)),
        lines=(comment.row, comment.row),
        hint="remove what is not needed: it would hide the next mistake",
        fix=_fix(comment, needless, text),
    )


def _fix(comment: Listed, needless: list[str], text: str) -> Fix:
    """Take the codes out; where none is left, the comment, with the space before it."""
    line = split_lines(text)[comment.row - 1].rstrip("\r\n")
    left = [line[start:end] for code, start, end in comment.codes if code not in needless]
    first, last = comment.codes[0][1], comment.codes[-1][2]
    if left:
        return _fixed(comment.row, first, last, ", ".join(left), "remove the needless codes")
    rest = line[last:].strip()
    if rest and not rest.startswith("#"):
        rest = f"# {rest}"
    start = comment.start if rest else len(line[: comment.start].rstrip())
    return _fixed(comment.row, start, len(line), rest, "remove the comment")


def _fixed(row: int, start: int, end: int, content: str, message: str) -> Fix:
    span = Span(Position(row, start + 1), Position(row, end + 1))
    return Fix(message, (Edit(span, content),), safe=True)
