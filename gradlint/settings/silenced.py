"""Which findings the comments of a file cover, and which of the comments are used: linear in both."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.rules.base import Rule
from gradlint.source.suppressions import Comment, Word

ALL = ""
"""With what all codes begin."""

_REMARKS = "GRD0"
"""With what the codes begin of findings about the comments themselves; those only a word that means them covers."""


class Silence(Frozen):
    """One code of a comment, as a prefix; a comment without codes has one that is empty, and stands for all.

    `number` is that of the comment in its file.
    """

    number: int
    comment: Comment
    word: Word | None
    prefix: str

    @property
    def key(self) -> tuple[int, str]:
        """Return what tells it from all others of its file."""
        return self.number, self.prefix


@dataclass
class Suppressions:
    """All silencing comments of one file; `used` are the keys of what has covered a finding."""

    comments: tuple[Comment, ...]
    silences: tuple[Silence, ...]
    unknown: tuple[tuple[Comment, Word], ...] = ()
    used: set[tuple[int, str]] = field(default_factory=set)
    _blocks: dict[str, tuple[list[int], list[list[Silence]]]] = field(default_factory=dict)

    @classmethod
    def of(cls, read: Sequence[Comment], rules: Sequence[Rule]) -> Suppressions:
        """Look up the words of comments among the rules; what is addressed to us must name one."""
        names = {rule.name: rule.code for rule in rules}
        prefixes = {rule.code[:length] for rule in rules for length in range(1, len(rule.code) + 1)}
        silences, unknown = [], []
        for number, comment in enumerate(read):
            if not comment.words and comment.fault is None:
                silences.append(Silence(number, comment, None, ALL))
            for word in comment.words:
                prefix = names.get(word.text, word.text.upper())
                if comment.ours and prefix not in prefixes:
                    unknown.append((comment, word))
                else:
                    silences.append(Silence(number, comment, word, prefix))
        return cls(tuple(read), tuple(silences), tuple(unknown))

    def cover(self, finding: Finding) -> bool:
        """Return whether a comment silences the finding; all that do are used from now on."""
        covering = {one.key for one in self._covering(finding)}
        self.used |= covering
        return bool(covering)

    def cover_remark(self, finding: Finding) -> bool:
        """Return whether a comment silences a finding about a comment: one for the file, or by the code of it."""
        found = self._covering(finding)
        return any(one.comment.scope == "file" or one.prefix.startswith(_REMARKS) for one in found)

    def of_comment(self, number: int) -> Iterator[Silence]:
        """Yield the codes of a comment that silences, by its number."""
        first = bisect_left(self._numbers, number)
        for one in self.silences[first : bisect_right(self._numbers, number)]:
            if one.comment.scope != "until":
                yield one

    @cached_property
    def never_opened(self) -> list[Comment]:
        """The comments that enable what is not disabled before them."""
        wrong, opened = [], set[str]()
        for comment, silences in self._by_comment():
            prefixes = {one.prefix for one in silences}
            if comment.scope == "from":
                opened |= prefixes
            elif comment.scope == "until" and prefixes:
                ended = {one for one in opened if any(one.startswith(each) for each in prefixes)}
                if not ended and not any(each.startswith(one) for each in prefixes for one in opened):
                    wrong.append(comment)
                opened -= ended
        return wrong

    @cached_property
    def _numbers(self) -> list[int]:
        return [one.number for one in self.silences]

    def _by_comment(self) -> Iterator[tuple[Comment, list[Silence]]]:
        at = 0
        while at < len(self.silences):
            end = bisect_right(self._numbers, self._numbers[at])
            yield self.silences[at].comment, list(self.silences[at:end])
            at = end

    def _covering(self, finding: Finding) -> Iterator[Silence]:
        yield from (one for one in self._of_file if finding.code.startswith(one.prefix))
        first, last = finding.lines
        rows, near = self._of_rows
        for one in near[bisect_left(rows, first) : bisect_right(rows, last)]:
            if finding.code.startswith(one.prefix):
                yield one
        yield from self._of_block(finding)

    @cached_property
    def _of_file(self) -> tuple[Silence, ...]:
        """One for each prefix: the others are needless."""
        return tuple({one.prefix: one for one in reversed(self.silences) if one.comment.scope == "file"}.values())

    @cached_property
    def _of_rows(self) -> tuple[list[int], list[Silence]]:
        near = [one for one in self.silences if one.comment.scope in ("statement", "next")]
        near.sort(key=lambda one: one.comment.target)
        return [one.comment.target for one in near], near

    def _of_block(self, finding: Finding) -> Iterable[Silence]:
        """The codes of the last comment before the finding that disables or enables its code, if it disables it."""
        if finding.code not in self._blocks:
            self._blocks[finding.code] = self._switches(finding.code)
        rows, silences = self._blocks[finding.code]
        last = bisect_right(rows, finding.span.start.row)
        return silences[last - 1] if last else ()

    def _switches(self, code: str) -> tuple[list[int], list[list[Silence]]]:
        """The rows in which comments switch a code, and what silences it from there on."""
        rows: list[int] = []
        silences: list[list[Silence]] = []
        for comment, every in self._by_comment():
            meant = [one for one in every if code.startswith(one.prefix)]
            if meant and comment.scope in ("from", "until"):
                rows.append(comment.row)
                silences.append(meant if comment.scope == "from" else [])
        return rows, silences
