"""What stands beside the code: the shapes of tensors, and a lens at each backward."""

from __future__ import annotations

from lsprotocol import types

from gradlint.domain.finding import Position, Span
from gradlint.explain import Sighting, Sights, look
from gradlint.server.checks import Checks
from gradlint.server.documents import Cell, Document
from gradlint.server.hover import in_program, shown_shape
from gradlint.source.read import Unusable, split_lines

GRAPH = "gradlint.graph"


def hints(checks: Checks, document: Document, cell: Cell, range: types.Range) -> list[types.InlayHint]:
    """Return the shapes of what the rows of a stretch give to variables, and whether it requires grad."""
    span = cell.text.span(range)
    above, seen = _seen(checks, document, cell, span)
    found: dict[int, types.InlayHint] = {}
    for one in seen.values:
        row = one.span.end.row - above
        if one.value.kind == "tensor" and one.value.name.endswith(" =") and span.start.row <= row <= span.end.row:
            end = cell.text.position(Position(row, one.span.end.column))
            found.setdefault(row, types.InlayHint(end, _label(one), padding_left=True))
    return list(found.values())


def lenses(checks: Checks, document: Document, cell: Cell) -> list[types.CodeLens]:
    """Return a lens at each row in which gradients are asked for: it opens the picture of the graph."""
    nothing = Span(Position(1, 1), Position(0, 1))
    above, seen = _seen(checks, document, cell, nothing)
    number = len(split_lines(cell.text.text))
    rows = dict.fromkeys(span.start.row - above for span in seen.backwards)
    return [types.CodeLens(_row(row), _graph(cell.uri, row)) for row in rows if 1 <= row <= number]


def _seen(checks: Checks, document: Document, cell: Cell, span: Span) -> tuple[int, Sights]:
    """Return what is seen in a stretch of a cell, and how many rows stand above the cell in its program."""
    number = next(number for number, one in document.numbered if one.uri == cell.uri)
    inside = in_program(document, Span(Position(1, 1), Position(1, 1), number))
    if inside is None:
        return 0, Sights()
    program, place = inside
    above = place.start.row - 1
    rows = range(span.start.row + above, span.end.row + above + 1)
    seen = look(program, document.name, rows, checks.configs.of(document.path.parent), checks.checker.projects)
    return above, Sights() if isinstance(seen, Unusable) else seen


def _label(one: Sighting) -> str:
    facts = one.value.facts
    size = shown_shape(facts) if isinstance(facts["shape"], tuple) else "[?...]"
    return size + {True: " grad", False: "", None: " grad?"}[facts["requires_grad"]]  # type: ignore[index]


def _row(row: int) -> types.Range:
    return types.Range(types.Position(row - 1, 0), types.Position(row - 1, 0))


def _graph(uri: str, row: int) -> types.Command:
    return types.Command("graph", GRAPH, arguments=[uri, row])
