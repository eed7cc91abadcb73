"""`html`: one page that needs nothing beside it, in which no text of a stranger becomes markup."""

from __future__ import annotations

import sys
from collections import Counter
from html.parser import HTMLParser
from pathlib import Path

import pytest

from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Position, Span
from gradlint.entrypoints.cli import main
from tests.harness.report import TEXT, finding, odd_findings, report_of, written

VOID = {"meta", "input", "br", "link", "img"}
OWN = {"html", "head", "meta", "title", "style", "body", "header", "h1", "p", "form", "label", "input", "select"}
OWN |= {"option", "button", "output", "kbd", "main", "section", "h2", "article", "details", "summary", "span", "code"}
OWN |= {"dl", "dt", "dd", "a", "pre", "mark", "h3", "div", "footer", "script", "svg", "rect", "text", "g", "path"}


class Page(HTMLParser):
    """The page as a browser reads it: its tags, attributes, and the text of each article."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: Counter[str] = Counter()
        self.attributes: list[tuple[str, str, str]] = []
        self.articles: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Open a tag."""
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]
        if tag not in VOID:
            self.open.append(tag)
        if tag == "article":
            self.articles.append("")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """An element of a picture without content."""
        self.tags[tag] += 1
        self.attributes += [(tag, name, value or "") for name, value in attrs]

    def handle_endtag(self, tag: str) -> None:
        """Close what was opened last."""
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        """Gather what an article says."""
        if "article" in self.open:
            self.articles[-1] += data


def test_texts_of_strangers_are_no_markup() -> None:
    """Names of files, messages, source and repros with tags, quotes and the end of a script."""
    evil = "x = '</script><script>alert(1)</script><img src=x onerror=alert(2)>'\nx += 1\n"
    told = Confirmation("confirmed", "it raises", error="<b>RuntimeError</b>", repro=evil)
    findings = (*odd_findings(), finding("</h2><i>.py", "`<u>` \"'", verdict=told))
    page = Page(written("html", report_of(*findings, texts={one.filename: evil for one in findings})))
    assert set(page.tags) <= OWN
    assert page.tags["script"] == 1
    assert page.tags["article"] == len(findings)
    assert not [name for _, name, _ in page.attributes if name.startswith("on")]
    assert "<script>alert(1)</script>" in page.articles[-1]
    assert "<b>RuntimeError</b>" in page.articles[-1]


def test_the_page_needs_nothing_beside_it() -> None:
    """It refers to pages about rules, and loads nothing."""
    page = Page(written("html", report_of(finding(), texts={"a.py": TEXT})))
    loaded = [(tag, value) for tag, name, value in page.attributes if name in {"src", "href", "action", "data"}]
    assert [tag for tag, _ in loaded] == ["a"]
    assert "@import" not in written("html", report_of()) and "url(" not in written("html", report_of())
    ids = Counter(value for _, name, value in page.attributes if name == "id")
    assert set(ids.values()) == {1}


def test_an_article_has_what_the_filters_go_by_and_what_is_said() -> None:
    """Severity, code, file and verdict; the help, torch's words, the row and the place that explains it."""
    told = Confirmation("confirmed", "it raises", error="RuntimeError: a leaf", torch="2.13.0", repro="w += 1")
    page = Page(written("html", report_of(finding(hint="copy it", verdict=told), texts={"a.py": TEXT})))
    data = {name: value for tag, name, value in page.attributes if tag == "article" and name.startswith("data-")}
    assert data == {"data-code": "GRD101", "data-severity": "error", "data-file": "a.py", "data-verdict": "confirmed"}
    (text,) = page.articles
    for said in ("torch raises", "copy it", "RuntimeError: a leaf", "梯度 += 1", "the leaf is made here", "b c.py:9:2"):
        assert said in text


def test_a_place_past_the_end_is_shown_at_the_last_row() -> None:
    """As where a file ends in the midst of something."""
    far = Span(Position(99, 1), Position(99, 2))
    (text,) = Page(written("html", report_of(finding(span=far), texts={"a.py": "x = 1"}))).articles
    assert "x = 1" in text


def test_nothing_found_is_a_page_as_well() -> None:
    """Without controls."""
    text = written("html", report_of())
    assert "Nothing is found." in text
    assert "<form" not in text


BROKEN = "import torch\nw = torch.ones(3, requires_grad=True)\ne = w.exp()\ne += 1\ne.sum().backward()\n"


def test_the_tape_of_a_finding_is_drawn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """At the place where the backward raises, with the write; a text where no library lays pictures out."""
    path = tmp_path / "a.py"
    path.write_text(BROKEN)
    assert main(["check", "--isolated", "--no-cache", "--output-format", "html", str(path)]) == 1
    (text,) = Page(capsys.readouterr().out).articles
    assert "saves e v0, now v1: written at line 4" in " ".join(text.split())


def test_without_a_library_for_pictures_the_tape_is_text(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As `gradlint graph` draws it in a terminal."""
    monkeypatch.setitem(sys.modules, "graphviz", None)
    monkeypatch.setitem(sys.modules, "grandalf", None)
    monkeypatch.setitem(sys.modules, "grandalf.graphs", None)
    monkeypatch.setitem(sys.modules, "grandalf.layouts", None)
    path = tmp_path / "a.py"
    path.write_text(BROKEN)
    assert main(["check", "--isolated", "--no-cache", "--output-format", "html", str(path)]) == 1
    page = Page(capsys.readouterr().out)
    assert page.tags["svg"] == 0
    assert "`- e" in page.articles[0]


def test_a_mistake_while_a_tape_is_drawn_costs_only_its_pictures(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said in one line, and the findings are there."""

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr("gradlint.entrypoints.taped.graphs", broken)
    path = tmp_path / "a.py"
    path.write_text(BROKEN)
    assert main(["check", "--isolated", "--no-cache", "--quiet", "--output-format", "html", str(path)]) == 1
    out, err = capsys.readouterr()
    assert len(Page(out).articles) == 1
    assert err.startswith("gradlint: no tapes are drawn: internal error in ") and err.count("\n") == 1
