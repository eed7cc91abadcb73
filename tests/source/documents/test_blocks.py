"""Blocks of Python in Markdown and reStructuredText."""

from __future__ import annotations

import pytest

from gradlint.source.documents.document import Document, Kind
from gradlint.source.documents.markdown import MARKDOWN
from gradlint.source.documents.rst import RST


def programs_of(kind: Kind, text: str) -> list[list[tuple[int, int]]]:
    """The row and column at which each block of each program begins, from 1 and 0."""
    read = kind.read(text)
    assert isinstance(read, Document)
    return [[(piece.row, piece.shift) for piece in program.pieces] for program in read.programs]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("```python\nx\n```\n~~~py\ny\n~~~\n", [[(2, 0)], [(5, 0)]]),
        ("```\nx\n```\n```c\nx\n```\n", []),
        ('```python title="a" {1}\nx\n```\n```{.python .big}\nx\n```\n', [[(2, 0)], [(5, 0)]]),
        ("```{code-block} python\n:linenos:\nx\n```\n", [[(3, 0)]]),
        ("- a\n\n  ```python\n  x\n\n  y\n  ```\n> ```py\n> x\n> ```\n", [[(4, 2)], [(9, 2)]]),
        ("```py\nx\n```\n<!-- gradlint: continue -->\n```py\ny\n```\n", [[(2, 0), (6, 0)]]),
        ("<!-- gradlint: skip -->\n```py\nx\n```\n```py\ny\n```\n", [[(6, 0)]]),
        ("```py\n>>> x\n1\n```\n```py\nf(\n...\n```\n", []),
        ("```python\nx\n", [[(2, 0)]]),
    ],
)
def test_markdown(text: str, expected: list[list[tuple[int, int]]]) -> None:
    """Fences that are said to be Python and that are."""
    assert programs_of(MARKDOWN, text) == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (".. code-block:: python\n   :linenos:\n\n   x\n\n     y\n\nend\n", []),
        (".. code-block:: python\n   :linenos:\n\n   x\n\n   y\n\nend\n", [[(4, 3)]]),
        ("* a\n\n  .. code:: py\n\n    x\n", [[(5, 4)]]),
        (".. code-block:: c\n\n   x\n\n.. code::\n\n   x\n", []),
        (".. code:: py\n\n x\n\n.. gradlint: continue\n\n.. code:: py\n\n y\n", [[(3, 1), (9, 1)]]),
        (".. gradlint: skip\n\n.. code:: py\n\n y\n\n.. code:: py\n\n z\n", [[(9, 1)]]),
    ],
)
def test_rst(text: str, expected: list[list[tuple[int, int]]]) -> None:
    """Directives, and what is indented below them."""
    assert programs_of(RST, text) == expected


def test_a_block_is_written_after_its_prefix() -> None:
    """Other rows, and rows without code, stay as they are."""
    text = "- a\r\n\r\n  ```py\r\n  x\r\n\r\n  y\r\n  ```\r\n"
    assert MARKDOWN.rewrite(text, {0: "x\r\n\r\nz\r\nw"}) == text.replace("  y", "  z\r\n  w")


@pytest.mark.parametrize(
    ("kind", "text", "new"),
    [
        (MARKDOWN, "```py\nx", "```py\ny\nz"),
        (RST, ".. code:: py\r\n\r\n x", ".. code:: py\r\n\r\n y\r\n z"),
        (RST, ".. code:: py\n\n x\n", ".. code:: py\n\n y\n z\n"),
    ],
)
def test_the_end_of_the_file_stays(kind: Kind, text: str, new: str) -> None:
    """No line end is put after a last row that has none."""
    assert kind.rewrite(text, {0: "y\nz"}) == new
