"""IPython's additions become Python row by row, and are put back."""

from __future__ import annotations

import ast

import pytest

from gradlint.source.documents.joined import Piece, Program
from gradlint.source.documents.magics import python_of
from gradlint.source.documents.stand_ins import StandIns
from gradlint.source.read import split_lines

CELLS = [
    "%matplotlib inline\nx = 1",
    "!pip install \\\n  torch\nx = 1",
    "files = !ls\na, b = %magic 1",
    "!echo (\n!echo [\nfiles  =  !ls (\nx = (1\n)",
    "if x:\n    !ls\n    %cd ..\nelse:\n    y = !pwd",
    "x?\n??x\ntorch.nn.Linear?\nx.*y?",
    "%%time\nx = 1",
    "\n%%capture out\nx = 1\n%timeit f(x)\n%time y = f(x)  # noqa",
    "pip install torch\nconda install x -y\nls = 1\nls",
    "x = '''\n%not a magic\n!nor this\n'''\ny = (1\n%2)\n!ls",
    "x = 1 \\\n  % 2\n!ls",
    "print('why?')  # why?\n!ls",
    "/f x\n,f a b\n;f a",
    "  x = 1\n  !ls",
    "x = 1\r\n!ls\r\ny = 2",
    "",
]


@pytest.mark.parametrize("cell", CELLS)
def test_a_cell_is_python_row_by_row_and_comes_back(cell: str) -> None:
    """It parses, has as many rows, and nothing is lost."""
    stand_ins = StandIns.for_document(cell)
    python = python_of(cell, stand_ins)
    assert python is not None
    program = Program.of([Piece(python, 1, 1)], stand_ins)
    ast.parse(program.text)
    assert len(split_lines(python)) == len(split_lines(cell))
    assert stand_ins.pieces(program.text) == [(1, cell)]


@pytest.mark.parametrize("name", ["bash", "html", "writefile x.py", "javascript", "sh", "cython"])
def test_cells_in_other_languages_are_none(name: str) -> None:
    """Nor is a file that a cell writes."""
    assert python_of(f"%%{name}\nls", StandIns("word")) is None


def test_code_after_a_magic_keeps_its_column() -> None:
    """So that what is found in it is found where it stands."""
    for row in ("%time x += 1", "%timeit x += 1", "    %prun x += 1"):
        python = python_of(row, StandIns("word"))
        assert python is not None
        assert python.index("x += 1") == row.index("x += 1")


def test_a_value_of_a_magic_is_not_known() -> None:
    """It is no `None`."""
    assert (python_of("x = !ls", StandIns("word")) or "").startswith("x = get_ipython()")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("x", "gradlint_row_0"),
        ("gradlint_row_0 gradlint_row_12", "gradlint_row_2"),
        ("gradlint_row_x gradlint_row_999999999999", "gradlint_row_0"),
    ],
)
def test_the_word_of_the_comments_is_free(text: str, word: str) -> None:
    """It does not even begin a word of the document."""
    assert StandIns.for_document(text).word == word
