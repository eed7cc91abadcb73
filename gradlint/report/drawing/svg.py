"""A drawing as a picture: SVG that follows the light or dark mode of whoever looks at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from gradlint.domain.drawing import Drawing, Step
from gradlint.report.drawing.layout import Layout, Point, Size, laid_out
from gradlint.report.drawing.leaves import in_words
from gradlint.report.drawing.words import Leaves, cells, leaf_at, state_of, title

MOST_BOXES = 400
"""How many boxes a picture has at most: more are not readable, and laying them out takes long."""

LETTER, LINE, MARGIN, HEAD = 6.7, 15.0, 24.0, 28.0
LONGEST = 46
"""How many characters a line of a box has."""

LIGHT = """\
--paper: #ffffff; --ink: #1b1b1b; --line: #555555; --box: #fafafa; --soft: #595959;
  --gets: #0072b2; --gets-box: #e3f1fa; --raises: #b34700; --raises-box: #fdeadd; --none: #6b6b6b;
  --none-box: #efefef"""
DARK = """\
--paper: #16181c; --ink: #ececec; --line: #a5a5a5; --box: #22252b; --soft: #b5b5b5;
  --gets: #56b4e9; --gets-box: #15303f; --raises: #ff9e57; --raises-box: #452712; --none: #9a9a9a;
  --none-box: #2b2d31"""
LOOK = """\
.tape .paper { fill: var(--paper) }
.tape text { font: 11px ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: var(--soft) }
.tape text.first { font-weight: bold; fill: var(--ink) }
.tape text.title { font-size: 13px; fill: var(--ink) }
.tape rect.box { fill: var(--box); stroke: var(--line); stroke-width: 1 }
.tape .gets rect.box { fill: var(--gets-box); stroke: var(--gets); stroke-width: 2 }
.tape .raises rect.box { fill: var(--raises-box); stroke: var(--raises); stroke-width: 3 }
.tape .none rect.box { fill: var(--none-box); stroke: var(--none); stroke-dasharray: 5 3 }
.tape .open rect.box { stroke-dasharray: 2 3 }
.tape path { fill: none; stroke: var(--line); stroke-width: 1.3 }
.tape path.open { stroke-dasharray: 2 3 }
.tape path.cut { stroke: var(--none); stroke-dasharray: 5 3 }
.tape path.tip { fill: var(--line); stroke: none }"""
STYLE = f".tape {{ {LIGHT} }}\n@media (prefers-color-scheme: dark) {{ .tape {{ {DARK} }} }}\n{LOOK}"
"""The style of a picture by itself. A page with a switch of its own takes the colours and the look apart."""


class TooManyBoxesError(Exception):
    """A picture of the drawing would not be readable."""


def as_svg(drawing: Drawing, style: str = STYLE) -> str:
    """Return the picture, the root at the top, its leaves below it; without `style` the page around it has one."""
    if len(drawing.steps) > MOST_BOXES:
        raise TooManyBoxesError
    leaves = leaf_at(drawing)
    texts = [[_cell(one) for one in cells(drawing, step, leaves) if one] for step in drawing.steps]
    sizes = [_size(text) for text in texts]
    links = list(dict.fromkeys((one.source, one.target) for one in drawing.links))
    layout = _moved(laid_out(sizes, links), sizes)
    return "\n".join(_lines(drawing, style, leaves, texts, sizes, links, layout))


def _cell(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _size(text: Sequence[str]) -> Size:
    return Size(max(len(one) for one in text) * LETTER + 18, len(text) * LINE + 12)


def _moved(layout: Layout, sizes: Sequence[Size]) -> Layout:
    """Return the layout with the least coordinates at the margin, below the title."""
    left = min(x - size.width / 2 for (x, _), size in zip(layout.centres, sizes, strict=True))
    top = min(y - size.height / 2 for (_, y), size in zip(layout.centres, sizes, strict=True))

    def moved(point: Point) -> Point:
        return point[0] - left + MARGIN, point[1] - top + MARGIN + HEAD

    return Layout(tuple(map(moved, layout.centres)), tuple(tuple(map(moved, line)) for line in layout.lines))


def _lines(
    drawing: Drawing,
    style: str,
    leaves: Leaves,
    texts: Sequence[Sequence[str]],
    sizes: Sequence[Size],
    links: Sequence[tuple[int, int]],
    layout: Layout,
) -> Iterator[str]:
    name = title(drawing)
    boxes = list(zip(layout.centres, sizes, strict=True))
    width = max(max(x + size.width / 2 for (x, _), size in boxes), len(name) * LETTER * 1.2 + MARGIN) + MARGIN
    height = max(y + size.height / 2 for (_, y), size in boxes) + MARGIN
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="tape" width="{width:.0f}" height="{height:.0f}" '
        f'viewBox="0 0 {width:.0f} {height:.0f}" role="img" aria-label="{escape(in_words(drawing))}">'
    )
    yield f"<title>{escape(name)}</title>"
    if style:
        yield f"<style>\n{style}\n</style>"
    yield f'<rect class="paper" width="{width:.0f}" height="{height:.0f}"/>'
    yield f'<text class="title" x="{MARGIN}" y="{MARGIN}">{escape(name)}</text>'
    sure = {(one.source, one.target): one.certain for one in drawing.links}
    for (source, target), line in zip(links, layout.lines, strict=True):
        points = _between(boxes[source], boxes[target], line)
        kind = "cut" if drawing.steps[target].kind == "cut" else "" if sure[source, target] else "open"
        yield from _arrow(points, kind)
    for step, text, (centre, size) in zip(drawing.steps, texts, boxes, strict=True):
        yield from _box(step, text, centre, size, state_of(step, leaves.get(step.number)))
    yield "</svg>"


def _between(source: tuple[Point, Size], target: tuple[Point, Size], line: Sequence[Point]) -> list[Point]:
    """Return the points of a link, from the bottom of the one box, or its top if it leads up, to the other."""
    (x, y), size = source
    (to_x, to_y), to_size = target
    down = 1 if to_y >= y else -1
    return [(x, y + down * size.height / 2), *line[1:-1], (to_x, to_y - down * to_size.height / 2)]


def _arrow(points: Sequence[Point], kind: str) -> Iterator[str]:
    """Yield a smooth line down to the tip."""
    (x, y), *rest = points
    path = f"M{x:.1f} {y:.1f}"
    for to_x, to_y in rest:
        middle = (y + to_y) / 2
        path += f" C{x:.1f} {middle:.1f} {to_x:.1f} {middle:.1f} {to_x:.1f} {to_y:.1f}"
        x, y = to_x, to_y
    yield f'<path class="{kind}" d="{path}"/>' if kind else f'<path d="{path}"/>'
    back = 7 if points[-1][1] >= points[0][1] else -7
    if kind == "cut":
        yield f'<path d="M{x - 6:.1f} {y:.1f} h12"/>'
    else:
        yield f'<path class="tip" d="M{x:.1f} {y:.1f} l-4 {-back} h8 z"/>'


def _box(step: Step, text: Sequence[str], centre: Point, size: Size, state: str) -> Iterator[str]:
    left, top = centre[0] - size.width / 2, centre[1] - size.height / 2
    round_ = 14 if step.kind == "leaf" else 3
    yield f'<g class="{state}">'
    yield (
        f'<rect class="box" x="{left:.1f}" y="{top:.1f}" width="{size.width:.1f}" height="{size.height:.1f}" '
        f'rx="{round_}"/>'
    )
    for at, one in enumerate(text):
        first = ' class="first"' if at == 0 else ""
        yield f'<text{first} x="{left + 9:.1f}" y="{top + 17 + at * LINE:.1f}">{escape(one)}</text>'
    yield "</g>"
