"""The sources of the site: every page is in the navigation, and its links lead somewhere; MkDocs need not be there."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gradlint.facts import load
from tools.site import built, links, navigation, operations, pages, sources

TEXTS = sources.texts()
_LINK = re.compile(r"\]\((?!https?:|mailto:)(?P<path>[^)#\s]*)")
_CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)


def _places(nav: Any) -> Iterator[str]:
    if isinstance(nav, str):
        yield nav
    else:
        for below in nav.values() if isinstance(nav, dict) else nav:
            yield from _places(below)


def test_each_page_stands_in_the_navigation_once() -> None:
    """And the navigation has no page that is not there."""
    assert sorted(_places(navigation.of(sources.DOCS))) == sorted(TEXTS)


def test_links_lead_to_pages() -> None:
    """Those between pages; MkDocs follows anchors as well."""
    wrong = [
        f"{name}: {path}"
        for name, text in TEXTS.items()
        for path in _LINK.findall(_CODE.sub("", text))
        if path and posixpath.normpath(posixpath.join(posixpath.dirname(name), path)) not in TEXTS
    ]
    assert wrong == []


def test_the_reference_has_every_operation() -> None:
    """By its full name."""
    text = "\n".join(operations.pages().values())
    assert [name for name in load() if f"`torch.{name}`" not in text] == []


def test_a_link_out_of_docs_leads_to_the_repository() -> None:
    """One that leads nowhere stops the build."""
    assert links.outward("[a](../LICENSE) [b](ci.md)", "", sources.ROOT, "https://host/") == (
        "[a](https://host/LICENSE) [b](ci.md)"
    )
    assert links.outward("[a](../ci.md)", "rules", sources.ROOT, "https://host/") == "[a](../ci.md)"
    with pytest.raises(ValueError, match="leads nowhere"):
        links.outward("[a](../no-such-file)", "", sources.ROOT, "https://host/")


def test_examples_of_a_rule_come_first_and_side_by_side() -> None:
    """The rest keeps its order."""
    examples = "## Reported\n\n```python\n1\n```\n\n## Right\n\n```python\n2\n```"
    shown = pages.rule(f"# R\n\nS.\n\n## What\n\nW.\n\nhttps://a.b/c\n\n{examples}\n\n## Related\n")
    headings = re.findall(r"^#+ (.+)$", shown, re.MULTILINE)
    assert headings == ["R", "Reported", "Right", "What", "Related"]
    assert "\n- <https://a.b/c>\n" in shown


def test_the_changelog_begins_with_what_is_not_released() -> None:
    """Each fragment is in it."""
    text = TEXTS["changelog.md"]
    assert text.index("## Not released yet") < text.index("GRD302-309")


def test_the_built_site_is_finished_and_followed(tmp_path: Path) -> None:
    """Languages, the search's worker, and links of a site that is built here by hand."""
    (tmp_path / "zh").mkdir()
    (tmp_path / "assets").mkdir()
    (tmp_path / built.OWN_SHIM).write_text("")
    (tmp_path / "index.html").write_text(
        '<html lang="en"><a href="zh/a.html#there">a</a><a href="zh/a.html#no">b</a></html>'
    )
    (tmp_path / "zh" / "a.html").write_text(
        f'<html lang="en"><p id="there"><a href="../no.html">c</a><script src="{built.SHIM}"></script>'
        '<script src="https://elsewhere.example/x.js"></script></html>'
    )
    built.finish(tmp_path)
    assert '<html lang="zh"' in (tmp_path / "zh" / "a.html").read_text()
    assert built.broken_links(tmp_path) == [
        "index.html: zh/a.html#no: there is no such anchor",
        "zh/a.html: ../no.html leads nowhere",
        "zh/a.html: https://elsewhere.example/x.js is loaded from elsewhere",
    ]
