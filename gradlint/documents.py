"""Documents on the main path: each of their programs is checked as a file is, and what is found moves to its place."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.outcome import Checked, Mended
from gradlint.source.documents.document import Document, Kind, outward
from gradlint.source.documents.joined import Program

Check: TypeAlias = "Callable[[Program], tuple[Checked, Checked]]"
"""What is found in a program, and what is found after its fixes, with what they made of its text."""


class Pages(Frozen):
    """A document that is checked, under the name by which the user knows it."""

    kind: Kind
    text: str
    filename: str
    document: Document

    def checked(self, refused: Sequence[Finding], check: Check) -> Checked:
        """Check all programs; `refused` is what is said about pieces that are none."""
        pairs = [check(program) for program in self.document.programs]
        first = self._gathered([before for before, _ in pairs], self.document, refused)
        changes = {index: last.mended.after for index, (_, last) in enumerate(pairs) if last.mended is not None}
        if not changes:
            return first
        made = self.kind.mended(self.text, self.document, changes)
        if made is None:
            codes = {code for _, last in pairs if last.mended for code, _ in last.mended.made}
            return replace(
                first, mended=Mended(self.text, self.text, broken=tuple(sorted(codes)), found=first.findings)
            )
        text, document = made
        last = self._gathered([after for _, after in pairs], document, refused)
        return replace(last, text=text, mended=self._mended([after for _, after in pairs], text, document, first))

    def _gathered(self, parts: Sequence[Checked], document: Document, refused: Sequence[Finding]) -> Checked:
        """Return what is found in all programs as found in the document."""
        found, elsewhere = list(refused), []
        give_ups: Counter[str] = Counter()
        for part, program in zip(parts, document.programs, strict=True):
            found += [outward(finding, program, self.filename) for finding in part.findings]
            elsewhere += [outward(finding, program, self.filename) for finding in part.elsewhere]
            give_ups.update(part.give_ups)
        return Checked(
            self.filename,
            tuple(sorted(found, key=lambda finding: finding.sort_key)),
            self.text if found else "",
            sum(part.silenced for part in parts),
            any(part.interpreted for part in parts),
            give_ups,
            elsewhere=tuple(elsewhere),
            called_off=frozenset[str]().union(*(part.called_off for part in parts)),
        )

    def _mended(self, parts: Sequence[Checked], text: str, document: Document, first: Checked) -> Mended:
        all_made = [part.mended for part in parts if part.mended is not None]
        made: Counter[tuple[str, str]] = Counter()
        for mended in all_made:
            made.update(mended.made)
        return Mended(
            self.text,
            text,
            made,
            tuple(sorted({code for mended in all_made for code in mended.broken})),
            all(mended.settled for mended in all_made),
            first.findings,
            _changed_cells(self.document.sources, document.sources) if _has_cells(document) else None,
        )


def _has_cells(document: Document) -> bool:
    return any(piece.cell is not None for program in document.programs for piece in program.pieces)


def _changed_cells(before: Mapping[int, str], after: Mapping[int, str]) -> dict[int, tuple[str, str]]:
    return {number: (source, after[number]) for number, source in before.items() if source != after[number]}
