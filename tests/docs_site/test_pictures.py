"""Pictures on the pages of the site: those that tell something, in the colours of the page, and in words."""

from __future__ import annotations

from xml.etree import ElementTree

import pytest

from gradlint.rules.registry import all_rules
from tools.site import pages, pictures, sources

RULES = {rule.code: rule for rule in all_rules()}


def svg_of(html: str) -> ElementTree.Element:
    """Return the picture in a piece of a page."""
    return ElementTree.fromstring(html[html.index("<svg") : html.index("</svg>") + len("</svg>")])


@pytest.mark.parametrize("code", ["GRD103", "GRD204", "GRD304", "GRD608"])
def test_the_graph_of_the_repair_has_less_trouble(code: str) -> None:
    """A write to a saved value, a freed graph, a cut, a parameter that was left out."""
    pair = pictures.pair_of(RULES[code])
    assert pair is not None
    bad, good = (
        [one.raises or one.kind == "cut" for one in drawing.steps] + [one.gets is False for one in drawing.leaves]
        for drawing in pair
    )
    assert any(bad)
    assert not any(good)


@pytest.mark.parametrize(
    "code",
    [
        "GRD101",  # Raises before there is a graph.
        "GRD109",  # The repair has the same cut, and means it.
        "GRD501",  # Its graph is as it should be.
        "GRD510",  # The graph was freed by the backward of each iteration.
    ],
)
def test_a_graph_that_tells_nothing_is_not_shown(code: str) -> None:
    """It would distract."""
    assert pictures.pair_of(RULES[code]) is None


@pytest.mark.parametrize("language", ["en", "zh"])
def test_pictures_stand_below_the_examples(language: str) -> None:
    """Each has a caption, says in words what it shows, and leaves its colours to the page."""
    pytest.importorskip("grandalf")
    rule = RULES["GRD304"]
    below = pictures.below_examples(rule, language)
    assert below is not None
    for html, said in ((below.bad, "gets no gradient"), (below.good, "gets a gradient")):
        picture = svg_of(html)
        assert said in picture.attrib["aria-label"]
        assert picture.find("{*}style") is None
        assert "<code>total</code>" in html
    name = {"en": "rules/GRD304-number-on-loss-path.md", "zh": "zh/rules/GRD304-number-on-loss-path.md"}[language]
    text = pages.rule((sources.DOCS / name).read_text(encoding="utf-8"), below)
    assert text.index("total.backward()") < text.index(below.bad) < text.index(below.good) < text.index(below.legend)


def test_a_page_asks_for_the_picture_of_its_program() -> None:
    """The page on graphs does."""
    pytest.importorskip("grandalf")
    text = pictures.of_page((sources.DOCS / "graph.md").read_text(encoding="utf-8"))
    assert "<!-- picture" not in text
    assert "backward raises" in svg_of(text).attrib["aria-label"]
