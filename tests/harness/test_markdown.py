"""Pages are cut into programs with their rows and headings."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.harness.markdown import PageError, blocks_of, blocks_under

PAGE = """\
# Leaves

Prose.

```python
# a comment is no heading
x = 1
```

## Known gap

```text
not a program
```

```python
y = 2
```

## After it

```python
z = 3
```
"""


def test_programs_know_their_row_and_headings(tmp_path: Path) -> None:
    """Rows count in the page, so that a complaint leads to the line."""
    page = tmp_path / "leaves.md"
    page.write_text(PAGE)
    first, gap, after = blocks_of(page)
    assert (first.line, first.headings) == (6, ("Leaves",))
    assert first.code == "# a comment is no heading\nx = 1\n"
    assert (gap.line, gap.headings) == (17, ("Leaves", "Known gap"))
    assert gap.is_known_gap
    assert after.headings == ("Leaves", "After it")
    assert not after.is_known_gap


@pytest.mark.parametrize("text", ["# A\n```python\nx = 1\n", "```python\nx = 1\n```\n"])
def test_an_unreadable_page_is_refused(tmp_path: Path, text: str) -> None:
    """A fence without an end and a program without a heading would go unnoticed otherwise."""
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(PageError):
        blocks_of(page)


def test_a_folder_without_programs_is_refused(tmp_path: Path) -> None:
    """A specification that vanished must not pass."""
    with pytest.raises(PageError):
        blocks_under(tmp_path)
