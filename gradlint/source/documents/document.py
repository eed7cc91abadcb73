"""A document as programs, and what is said about its programs as said about the document."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace

from gradlint.domain.finding import Edit, Finding, Fix, Position, Related, Span
from gradlint.domain.frozen import Frozen
from gradlint.source.documents.joined import Piece, Program, joined_again
from gradlint.source.read import LARGEST, Unusable


class Document(Frozen):
    """What a document holds: programs, pieces that should be Python and are not, and what was left out of account.

    `sources` are the texts of all pieces by their numbers, as they stand in the document. `whole`: nothing that may
    belong to a program is missing. `caveat` matters only where something is found.
    """

    programs: tuple[Program, ...] = ()
    sources: Mapping[int, str] = field(default_factory=dict)
    refused: tuple[tuple[Piece, Unusable], ...] = ()
    remarks: tuple[str, ...] = ()
    caveat: str | None = None
    whole: bool = True


class Kind(Frozen):
    """How to read the text of a document, and how to write it with other texts in some of its pieces.

    A file with more than `largest` bytes is not read.
    """

    read: Callable[[str], Document | Unusable]
    rewrite: Callable[[str, Mapping[int, str]], str]
    largest: int = LARGEST

    def mended(self, text: str, document: Document, programs: Mapping[int, str]) -> tuple[str, Document] | None:
        """Return the document of a text with some of its programs changed, by their index.

        None if that cannot be written so.
        """
        new = joined_again(document.programs[0].stand_ins, programs.values())
        changes = {number: source for number, source in new.items() if source != document.sources[number]}
        after = self.rewrite(text, changes)
        again = self.read(after)
        if isinstance(again, Unusable) or len(again.programs) != len(document.programs):
            return None
        held = all(again.programs[index].text == program for index, program in programs.items())
        return (after, again) if held else None


def outward(finding: Finding, program: Program, filename: str) -> Finding:
    """Return what is said about a program as said about its document.

    What explains it in another cell names the file, as what is in another file does.
    """
    if finding.filename != filename:
        return _in_other_file(finding, program, filename)
    span = program.outward(finding.span)

    def move(place: Related) -> Related:
        if place.filename is not None:
            return place
        moved = program.outward(place.span)
        return replace(place, span=moved, filename=None if moved.cell == span.cell else filename)

    return _moved(finding, span, move, program)


def _in_other_file(finding: Finding, program: Program, filename: str) -> Finding:
    def move(place: Related) -> Related:
        return replace(place, span=program.outward(place.span)) if place.filename == filename else place

    return _moved(finding, finding.span, move, None)


def _moved(finding: Finding, span: Span, move: Callable[[Related], Related], program: Program | None) -> Finding:
    moved = finding.relocated(span, move)
    taken = tuple(replace(one, place=move(one.place)) for one in finding.assumptions)
    if program is None:
        return replace(moved, assumptions=taken)
    first, last = (program.outward(Span(Position(row, 1), Position(row, 1))).start.row for row in finding.lines)
    return replace(moved, assumptions=taken, lines=(first, last), fix=_fix(finding.fix, program))


def _fix(fix: Fix | None, program: Program) -> Fix | None:
    """Return a fix with its edits in the document; None for one that changes several pieces."""
    index = None if fix is None else program.holder(fix, program.text)
    if fix is None or index is None:
        return None
    return replace(fix, edits=tuple(Edit(program.outward(edit.span, index), edit.content) for edit in fix.edits))


def inward(finding: Finding, document: Document) -> tuple[str, Finding] | None:
    """Return the program of a document about which something is said, and that as said about the program.

    None for what is said about a piece that does not parse.
    """
    for program in document.programs:
        span = program.inward(finding.span)
        if span is not None:
            return program.text, _inside(finding, span, program)
    return None


def _inside(finding: Finding, span: Span, program: Program) -> Finding:
    def move(place: Related) -> Related | None:
        if place.filename not in (None, finding.filename):
            return place
        inside = program.inward(place.span)
        return None if inside is None else replace(place, span=inside, filename=None)

    rows = span.start.row - finding.span.start.row
    return replace(finding.relocated(span, move), lines=(finding.lines[0] + rows, finding.lines[1] + rows), fix=None)
