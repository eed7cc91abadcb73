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

## More examples

### A pair

```python
z = 4
# shows: z == 4
```

```python
z = 5  # GRD101
# error: a leaf
```
"""


def test_programs_know_their_row_and_headings(tmp_path: Path) -> None:
    """Rows count in the page, so that a complaint leads to the line."""
    page = tmp_path / "leaves.md"
    page.write_text(PAGE)
    first, gap, after, example, _ = blocks_of(page)
    assert (first.line, first.headings) == (6, ("Leaves",))
    assert first.code == "# a comment is no heading\nx = 1\n"
    assert (gap.line, gap.headings) == (17, ("Leaves", "Known gap"))
    assert gap.is_known_gap
    assert after.headings == ("Leaves", "After it")
    assert not after.is_known_gap
    assert not after.is_example
    assert example.is_example


def test_a_block_states_what_torch_does(tmp_path: Path) -> None:
    """By lines of their own, which are no part of the program; an error without a place is refused."""
    page = tmp_path / "leaves.md"
    page.write_text(PAGE)
    *_, measured, raising = blocks_of(page)
    assert (measured.program, measured.shows, measured.raises) == ("z = 4\n", "z == 4", None)
    assert (raising.program, raising.shows, raising.raises) == ("z = 5  # GRD101\n", None, (1, "a leaf"))
    page.write_text("# A\n```python\nz = 5\n# error: a leaf\n```\n")
    with pytest.raises(PageError):
        assert blocks_of(page)[0].raises


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
