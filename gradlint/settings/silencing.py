"""What comments silence, which of them silence nothing, and which are wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from gradlint.domain.finding import Edit, Finding, Fix, Position, Span
from gradlint.domain.frozen import Frozen
from gradlint.rules.base import Rule
from gradlint.rules.files.unused_suppression import UnusedSuppression
from gradlint.rules.files.wrong_suppression import WrongSuppression
from gradlint.rules.house import OURS, prefix_of
from gradlint.settings.config import Config
from gradlint.settings.silenced import ALL, Silence, Suppressions
from gradlint.settings.words import NO_RULE
from gradlint.source.read import split_lines
from gradlint.source.suppressions import Comment, Word, comments

OUT_OF_STEPS = "out of steps"
"""What the interpreter counts when it gives up a part of the file: what it would have found there is not known."""


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
        """Return the findings that remain, with those about the comments themselves; and how many do not."""
        read = () if config.ignore_noqa else comments(text)
        if not read:
            return tuple(sorted(found, key=lambda finding: finding.sort_key)), 0
        suppressions = Suppressions.of(read, self.known)
        kept = [finding for finding in found if not suppressions.cover(finding)]
        about = list(_About(self, suppressions, split_lines(text), filename).findings())
        kept += [finding for finding in about if not suppressions.cover_remark(finding)]
        silenced = len(found) + len(about) - len(kept)
        return tuple(sorted(kept, key=lambda finding: finding.sort_key)), silenced

    @cached_property
    def _codes(self) -> frozenset[str]:
        return frozenset(rule.code for rule in self.selected)

    @cached_property
    def _letters(self) -> frozenset[str]:
        return frozenset(prefix_of(rule.code) for rule in self.known) | {OURS}

    def owns(self, code: str) -> bool:
        """Return whether a code, or the beginning of one, has the letters of gradlint's rules, or of a house's."""
        return prefix_of(code) in self._letters

    def judges(self, prefix: str) -> bool:
        """Return whether all rules that a code may mean, and that are not off by default, judged the whole file."""
        meant = [rule for rule in self.known if rule.code.startswith(prefix)]
        off = [rule for rule in meant if rule.code not in self._codes]
        return self.complete and not any(rule.default for rule in off) and not (meant and len(off) == len(meant))


@dataclass
class _About:
    """What is to be said of the comments of one file, once it is known what they silence."""

    silencing: Silencing
    suppressions: Suppressions
    rows: list[str]
    filename: str
    _rules: dict[type[Rule], Rule] = field(init=False)

    def __post_init__(self) -> None:
        """Find out which of the two rules are on."""
        self._rules = {type(rule): rule for rule in self.silencing.selected}

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong, and what is not needed."""
        wrong, unused = self._rules.get(WrongSuppression), self._rules.get(UnusedSuppression)
        if wrong is not None:
            yield from self._wrong(wrong)
        if unused is not None and self.silencing.complete:
            yield from self._unused(unused)

    def _wrong(self, rule: Rule) -> Iterator[Finding]:
        for comment in self.suppressions.comments:
            if comment.fault is not None:
                yield self._finding(rule, comment, _nothing(comment.fault), comment.hint)
        for comment, word in self.suppressions.unknown:
            hint = "name a rule, its code, or the first letters of one"
            yield self._finding(rule, comment, f"`{word.text}` {NO_RULE}: it has no effect", hint)
        for comment in self.suppressions.never_opened:
            message = "nothing is disabled here that this comment could enable"
            yield self._finding(rule, comment, message, "remove it", fix=self._fix(comment, comment.words))

    def _unused(self, rule: Rule) -> Iterator[Finding]:
        for number, comment in enumerate(self.suppressions.comments):
            needless = [one.word for one in self.suppressions.of_comment(number) if self._is_needless(one)]
            if not needless:
                continue
            names = ", ".join(f"`{word.text}`" for word in needless if word is not None)
            what = f"{names}, and nothing of that is found here" if names else "nothing"
            words = tuple(word for word in needless if word is not None)
            yield self._finding(
                *(rule, comment, f"this comment silences {what}", _hint(comment)),
                fix=self._fix(comment, words),
            )

    def _is_needless(self, silence: Silence) -> bool:
        """Return whether a code is ours, and all its rules judged the file and found nothing that it silences.

        A bare comment may be there for other tools, and one for the whole file is meant whatever stands in it.
        """
        if silence.key in self.suppressions.used:
            return False
        if silence.prefix == ALL:
            bare = silence.comment.ours and silence.comment.scope != "file"
            return bare and self.silencing.judges(ALL)
        return self.silencing.owns(silence.prefix) and self.silencing.judges(silence.prefix)

    def _finding(self, rule: Rule, comment: Comment, message: str, hint: str | None, fix: Fix | None = None) -> Finding:
        return Finding(
            code=rule.code,
            name=rule.name,
            message=message,
            severity=rule.severity,
            effect=rule.effect,
            filename=self.filename,
            span=Span(Position(comment.row, comment.start + 1), Position(comment.row, comment.end + 1)),
            lines=(comment.row, comment.row),
            hint=hint,
            fix=fix,
        )

    def _fix(self, comment: Comment, needless: Iterable[Word]) -> Fix:
        """Take the codes out; where none is left, the comment, with the space before it."""
        line, out = self.rows[comment.row - 1], set(needless)
        left = [word.text for word in comment.words if word not in out]
        if left:
            first, last = comment.words[0].start, comment.words[-1].end
            return _fixed(comment.row, first, last, ", ".join(left), "remove the needless codes")
        end = comment.end if comment.ours or not comment.words else comment.words[-1].end
        rest = line[end:].strip()
        if rest and not rest.startswith("#"):
            rest = f"# {rest}"
        start = comment.start if rest else len(line[: comment.start].rstrip())
        return _fixed(comment.row, start, len(line), rest, "remove the comment")


def _nothing(fault: str) -> str:
    return f"this comment silences nothing: {fault}"


def _hint(comment: Comment) -> str:
    if comment.verb == "ignore" and comment.alone:
        return "on a line of its own, it is about no statement: write `ignore-next-line`, or remove it"
    return "remove what is not needed: it would hide the next mistake"


def _fixed(row: int, start: int, end: int, content: str, message: str) -> Fix:
    span = Span(Position(row, start + 1), Position(row, end + 1))
    return Fix(message, (Edit(span, content),), safe=True)
