"""Rewriting a page changes the texts of its reveals and nothing else, and settles at once."""

from __future__ import annotations

from pathlib import Path

from tests.harness.rewrite import main, rewritten

PAGE = """\
# A page

reveal(x) in prose stays.

```python
import torch

x = torch.ones(2)
reveal(x)  # revealed: something old
if x is None:
    reveal(x)  # revealed: never reached
reveal(x + 1)
x += 1  # GRD999
```
"""


def test_reveals_are_written_and_removed(tmp_path: Path) -> None:
    """An old text is replaced, a missing one is added, one of a line that is never reached goes."""
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert rewritten(page) == (
        PAGE.replace("something old", "Tensor[2] float32 leaf v0")
        .replace("  # revealed: never reached", "")
        .replace("reveal(x + 1)", "reveal(x + 1)  # revealed: Tensor[2] float32 leaf v0")
    )


def test_a_second_time_changes_nothing(tmp_path: Path) -> None:
    """The command line takes pages and is idempotent."""
    page = tmp_path / "page.md"
    page.write_text(PAGE)
    assert main([str(page)]) == 0
    once = page.read_text()
    assert main([str(page)]) == 0
    assert page.read_text() == once
