"""The pictures of pages: the graph of what a rule reports beside that of the repair, and that of the page on graphs.

They are drawn when the site is built, from the programs on the pages. In the repository they would take as much room as
the pages themselves, and all would change with a word in a box.
"""

# ruff: noqa: RUF001
# Chinese prose has full-width punctuation.

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from html import escape
from typing import NamedTuple

from gradlint.check import check_source
from gradlint.domain.drawing import Drawing
from gradlint.entrypoints.taped import tapes_of
from gradlint.graph import graph, graphs
from gradlint.report.drawing.svg import DARK, LIGHT, LOOK, as_svg
from gradlint.rules.base import Rule
from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs
from tools.site.pages import Below

FILE = "example.py"
STYLESHEET = f"""\
/* Pictures follow the switch of the site. Written by tools/site/pictures.py. */
.tape {{ {LIGHT} }}
[data-md-color-scheme="slate"] .tape {{ {DARK} }}
{LOOK}
"""


CAPTIONS = {"en": "The graph of {title}", "zh": "{title} 的计算图"}
LEGENDS = {
    "en": "Drawn by [`gradlint graph`](../graph.md). Arrows run the way that a gradient flows. Thick frame: a backward "
    "raises there. Rounded: a leaf, with a solid frame if it gets a gradient. Dashed: no gradient comes by.",
    "zh": "由 [`gradlint graph`](../../graph.md) 绘制。箭头是梯度流动的方向。粗框：backward 在此报错。圆角：叶子张量，"
    "实线框表示能得到梯度。虚线：梯度到不了这里。",
}
_WIDTH = re.compile(r'<svg [^>]*?\bwidth="(\d+)"')
_PROGRAM = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ASKED = re.compile(r"^<!-- picture of (?P<file>\S+):(?P<row>\d+) -->$", re.MULTILINE)


class Pair(NamedTuple):
    """The graph of what is reported, and that of the repair."""

    bad: Drawing
    good: Drawing


def pair_of(rule: Rule) -> Pair | None:
    """Return the graphs on the page of a rule; None where they tell nothing about the fault.

    They tell something where the graph of what is reported has a kind of trouble that the graph of the repair has not.
    """
    if rule.effect not in ("raises", "silent") or rule.bad is None or rule.good is None:
        return None
    bad, good = (f"{inspect.cleandoc(one)}\n" for one in (rule.bad, rule.good))
    repaired: list[Drawing] = []
    for one, is_reported in _drawings(rule, bad):
        trouble = _trouble(rule, one)
        repaired = repaired or (_all(good) if trouble else [])
        same = [other for other in repaired if other.title == one.title]
        repair = max(same or (repaired if is_reported else []), key=_nodes, default=None)
        if repair is not None and _trouble(rule, repair) < trouble:
            return Pair(one, repair)
    return None


def _drawings(rule: Rule, program: str) -> Iterator[tuple[Drawing, bool]]:
    """Yield what may be drawn of a program, first what the HTML report shows of its findings: `True`."""
    findings = [one for one in check_source(program, FILE, Config()) if one.code == rule.code]
    of_finding = tapes_of(findings, {FILE: program}, Configs())
    yield from ((one, True) for one in map(of_finding, findings) if one is not None)
    yield from ((one, False) for one in sorted(_all(program), key=_nodes, reverse=True))


def _all(program: str) -> list[Drawing]:
    """Return the graphs of all rows; one node alone is no picture."""
    drawings = graphs(program, FILE, range(1, program.count("\n") + 1)).values()
    return [one for one in drawings if _nodes(one) > 1]


def _nodes(drawing: Drawing) -> int:
    return len(drawing.steps)


def _trouble(rule: Rule, drawing: Drawing) -> frozenset[str]:
    """Return what is wrong in a graph. One that has served its backward is freed: only another backward raises."""
    raises = rule.effect == "raises" and any(one.raises for one in drawing.steps)
    cut = any(one.kind == "cut" for one in drawing.steps)
    none = any(one.gets is False for one in drawing.leaves)
    return frozenset(name for name, found in (("raises", raises), ("cut", cut), ("none", none)) if found)


def below_examples(rule: Rule, language: str) -> Below | None:
    """Return what stands below the examples of a rule; None where there is no picture."""
    pair = pair_of(rule)
    if pair is None:
        return None
    bad, good = (figure(one, CAPTIONS[language].format(title=_code(one.title))) for one in pair)
    return Below(bad, good, LEGENDS[language])


def figure(drawing: Drawing, caption: str = "") -> str:
    """Return a picture in HTML, in the colours of the page; it scrolls where it is much wider than the page."""
    picture = as_svg(drawing, style="")
    width = _WIDTH.search(picture)
    assert width is not None, "a picture has a width"
    said = f"<figcaption>{caption}</figcaption>\n" if caption else ""
    return (
        f'<figure class="graph">\n<div tabindex="0" role="group" style="--width: {width[1]}px">\n{picture}\n</div>\n'
        f"{said}</figure>"
    )


def of_page(text: str) -> str:
    """Return a page with the pictures that its comments ask for, of the first program on it."""
    program = _PROGRAM.search(text)

    def drawn(asked: re.Match[str]) -> str:
        assert program is not None, "a page with a picture has a program"
        found = graph(program[1], asked["file"], int(asked["row"]))
        assert isinstance(found, Drawing), found
        return figure(found)

    return _ASKED.sub(drawn, text)


def _code(text: str) -> str:
    return f"<code>{escape(text)}</code>"
