"""Pages in Chinese are as new as their English sources."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradlint.rules.registry import all_rules
from tools.transcripts import played
from tools.translations import FOLDER, PAGES, ROOT, hash_of_page, pages, stale, translations

_BLOCK = re.compile(r"^```[^\n]*\n.*?^```$", re.MULTILINE | re.DOTALL)
_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def test_no_translation_is_older_than_its_source() -> None:
    """Bring it up to date; then `python -m tools.translations --accept`."""
    assert stale(all_rules()) == []


def test_thirty_rules_are_translated() -> None:
    """Each page has a Chinese paragraph for each heading, and the examples of the rule."""
    assert len(translations()) == 30
    for name, text in pages(all_rules()).items():
        assert _CHINESE.search(text), name
    assert {path.name for path in FOLDER.glob("*.md")} == pages(all_rules()).keys()


@pytest.mark.parametrize("name", PAGES)
def test_programs_and_commands_are_those_of_the_source(name: str) -> None:
    """Only the prose is translated; comments of shell blocks are, too."""
    translated, source = (_blocks(ROOT / one) for one in (name, PAGES[name]))
    assert translated == source


def _blocks(page: Path) -> list[list[str]]:
    """Return the lines of each block without comments, and of a session its commands."""
    blocks = [one.splitlines() for one in _BLOCK.findall(page.read_text(encoding="utf-8"))]
    return [
        [re.sub(r"\s+# .*$", "", line) for line in lines if "console" not in lines[0] or line.startswith("$ ")]
        for lines in blocks
    ]


def test_the_hash_of_a_page_leaves_out_what_is_printed(tmp_path: Path) -> None:
    """A change of a message is no change of the page."""
    page = tmp_path / "page.md"
    page.write_text("A\n\n```console\n$ gradlint check a.py\nold\n```\n")
    before = hash_of_page(page)
    page.write_text(page.read_text().replace("old", "new"))
    assert hash_of_page(page) == before
    page.write_text(page.read_text().replace("A", "B"))
    assert hash_of_page(page) != before


def test_the_sessions_are_the_same() -> None:
    """The Chinese tutorial goes through the same programs."""
    english, chinese = (
        [program for _, program in played((ROOT / name).read_text(encoding="utf-8"))]
        for name in ("docs/tutorial.md", "docs/zh/tutorial.md")
    )
    assert english == chinese
