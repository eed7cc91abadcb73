"""Where the boxes of a drawing stand: in layers from the root down, by Graphviz where it is installed, or grandalf."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from importlib.util import find_spec
from typing import NamedTuple, TypeAlias

Point: TypeAlias = "tuple[float, float]"

APART = 28.0
"""The space between boxes, across and down."""


class Size(NamedTuple):
    """Width and height of a box."""

    width: float
    height: float


class Layout(NamedTuple):
    """The centres of the boxes, and the points of the line of each link."""

    centres: tuple[Point, ...]
    lines: tuple[tuple[Point, ...], ...]


class NoLayoutError(Exception):
    """No library is installed that lays out graphs."""


def can_lay_out() -> bool:
    """Return whether a library is installed that lays out graphs."""
    return _has_graphviz() or find_spec("grandalf") is not None


def _has_graphviz() -> bool:
    return find_spec("graphviz") is not None and shutil.which("dot") is not None


def laid_out(sizes: Sequence[Size], links: Sequence[tuple[int, int]]) -> Layout:
    """Place boxes in layers; each link is a pair of boxes by number, and no pair stands there twice."""
    if _has_graphviz():
        return _by_graphviz(sizes, links)
    if find_spec("grandalf") is not None:
        return _by_grandalf(sizes, links)
    raise NoLayoutError


def _by_graphviz(sizes: Sequence[Size], links: Sequence[tuple[int, int]]) -> Layout:
    """Let `dot` place them; it measures in inches, from the bottom up."""
    from graphviz import Source

    boxes = [f"{at} [shape=box fixedsize=true width={w / 72} height={h / 72}]" for at, (w, h) in enumerate(sizes)]
    arrows = [f"{source} -> {target}" for source, target in links]
    told = f"digraph {{ nodesep={APART / 72}; ranksep={APART / 72}; {'; '.join([*boxes, *arrows])} }}"
    centres: dict[int, Point] = {}
    lines: dict[tuple[int, int], tuple[Point, ...]] = {}
    top = 0.0
    for words in (line.split() for line in Source(told).pipe(format="plain", encoding="utf-8").splitlines()):
        if words[0] == "graph":
            top = float(words[3])
        elif words[0] == "node":
            centres[int(words[1])] = _inches(words[2], words[3], top)
        elif words[0] == "edge":
            numbers = words[4 : 4 + 2 * int(words[3])]
            points = (_inches(x, y, top) for x, y in zip(numbers[::2], numbers[1::2], strict=True))
            lines[int(words[1]), int(words[2])] = tuple(points)
    return Layout(tuple(centres[at] for at in range(len(sizes))), tuple(lines[one] for one in links))


def _inches(x: str, y: str, top: float) -> Point:
    return float(x) * 72, (top - float(y)) * 72


def _by_grandalf(sizes: Sequence[Size], links: Sequence[tuple[int, int]]) -> Layout:
    from grandalf.graphs import Edge, Graph, Vertex
    from grandalf.layouts import SugiyamaLayout

    vertices = [Vertex(at) for at in range(len(sizes))]
    for vertex, size in zip(vertices, sizes, strict=True):
        vertex.view = _View(*size)
    edges = [Edge(vertices[source], vertices[target]) for source, target in links]
    for edge in edges:
        edge.view = _Path()
    (whole,) = Graph(vertices, edges).C
    layout = SugiyamaLayout(whole)
    layout.xspace = layout.yspace = APART
    layout.route_edge = lambda edge, points: edge.view.setpath(points)
    layout.init_all(roots=vertices[:1])
    layout.draw()
    centres = _apart([vertex.view.xy for vertex in vertices], sizes)
    return Layout(tuple(centres), tuple(tuple(edge.view.points) for edge in edges))


def _apart(centres: Sequence[Point], sizes: Sequence[Size]) -> list[Point]:
    """Move boxes of a layer to the right where grandalf has let them overlap."""
    moved = list(centres)
    edges: dict[float, float] = {}
    for at in sorted(range(len(centres)), key=lambda at: centres[at]):
        x, y = centres[at]
        half = sizes[at].width / 2
        x = max(x, edges.get(round(y), x - half) + half)
        edges[round(y)] = x + half + APART
        moved[at] = x, y
    return moved


class _View:
    """What grandalf asks of a box, and where it writes the centre."""

    def __init__(self, width: float, height: float) -> None:
        self.w, self.h = width, height
        self.xy: Point = (0.0, 0.0)


class _Path:
    """Where grandalf writes the points of a link."""

    def __init__(self) -> None:
        self.points: list[Point] = []

    def setpath(self, points: list[Point]) -> None:
        """Take the points."""
        self.points = list(points)
