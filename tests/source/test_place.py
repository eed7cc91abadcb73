"""Places of nodes, and rows of their statements."""

from __future__ import annotations

import libcst as cst
import libcst.matchers as m
import pytest

from gradlint.domain.finding import Position, Span
from gradlint.source.place import Places

TEXT = """\
@d(
    1)
def f(
    a,
):
    if a: x = (1,
        2)
    elif a:
        pass
    else:
        pass
    match a:
        case 1 if a:
            pass
    try:
        pass
    except (A,
            B):
        pass
    finally: pass
"""
MODULE = cst.parse_module(TEXT)
PLACES = Places(MODULE)


def only(matcher: m.BaseMatcherNode) -> cst.CSTNode:
    """The one node that matches, or the outermost of several."""
    return m.findall(MODULE, matcher)[0]


@pytest.mark.parametrize(
    ("matcher", "start", "end", "rows"),
    [
        (m.Decorator(), (1, 1), (2, 7), (1, 2)),
        (m.FunctionDef(), (3, 1), (5, 3), (3, 5)),
        (m.Param(), (4, 5), (4, 6), (3, 5)),
        (m.If(), (6, 5), (6, 10), (6, 7)),
        (m.Tuple(), (6, 16), (7, 10), (6, 7)),
        (m.If(orelse=m.Else()), (8, 5), (8, 12), (8, 8)),
        (m.Else(), (10, 5), (10, 10), (10, 10)),
        (m.Match(), (12, 5), (12, 13), (12, 12)),
        (m.MatchCase(), (13, 9), (13, 21), (13, 13)),
        (m.Try(), (15, 5), (15, 9), (15, 15)),
        (m.ExceptHandler(), (17, 5), (18, 16), (17, 18)),
        (m.Finally(), (20, 5), (20, 13), (20, 20)),
    ],
)
def test_span_and_rows(
    matcher: m.BaseMatcherNode, start: tuple[int, int], end: tuple[int, int], rows: tuple[int, int]
) -> None:
    """A statement with a body is its header, in its span and in its rows; parentheses are left out."""
    span = PLACES.span(only(matcher))
    assert (span, PLACES.rows(span)) == (Span(Position(*start), Position(*end)), rows)


def test_a_node_of_another_module_is_our_mistake() -> None:
    """Rules report what they were given."""
    with pytest.raises(AssertionError, match="rules report nodes of the module, which this Name is not"):
        PLACES.span(cst.Name("x"))
