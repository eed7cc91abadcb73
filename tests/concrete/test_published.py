"""The programs of `published.md`: what is found of each, by a run and by a check; repaired, they are silent."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradlint.check import check_source
from gradlint.settings.config import Config
from tests.concrete.running import codes_at
from tests.concrete.test_programs import ran
from tests.harness.markdown import Block, blocks_of

BLOCKS = blocks_of(Path(__file__).parent / "published.md")
MARK = re.compile(r"# (run|check): (GRD\d{3})")


def marked(text: str, tool: str) -> set[tuple[str, int]]:
    """Return the codes that a tool should report, with their rows."""
    rows = enumerate(text.splitlines(), 1)
    return {(code, row) for row, line in rows for named, code in MARK.findall(line) if named == tool}


def repaired(text: str) -> str:
    """Return a program without its mistake."""
    rows = [re.sub(r"# right: ", "", row) for row in text.splitlines() if not re.search(r"# wrong\b", row)]
    return "\n".join(rows) + "\n"


def checked(text: str, folder: Path) -> set[tuple[str, int]]:
    """Return the codes that a check reports, with their rows."""
    return {(one.code, one.span.start.row) for one in check_source(text, str(folder / "program.py"), Config())}


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.headings[-1])
def test_what_is_found(block: Block, tmp_path: Path) -> None:
    """Each finding is marked, and each mark is found."""
    found = ran(block.code, tmp_path)
    assert codes_at(found) == marked(block.code, "run") and found.error is None and found.complaints == []
    assert checked(block.code, tmp_path) == marked(block.code, "check")


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: block.headings[-1])
def test_repaired_programs_are_silent(block: Block, tmp_path: Path) -> None:
    """And run to their end."""
    text = repaired(block.code)
    found = ran(text, tmp_path)
    assert text != block.code and found.findings == () and found.error is None and found.complaints == []
    assert checked(text, tmp_path) == set()
