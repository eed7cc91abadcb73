"""Notebooks are read as programs, and written with nothing changed but sources."""

from __future__ import annotations

import json

import pytest

from gradlint.source.documents.document import Document
from gradlint.source.documents.notebook import NOTEBOOK
from gradlint.source.read import Unusable
from tests.harness.notebooks import notebook


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ('{\n "cells": [,]}', (2, 12), "not valid JSON"),
        ("", (1, 1), "not valid JSON"),
        ("[" * 100_000, (1, 1), "nested too deeply"),
        ('{"cells": 1' + "0" * 10_000 + "}", (1, 1), "JSON"),
        ("[]", (1, 1), "no list of `cells`"),
        ('{"cells": [1]}', (1, 1), "cell 1 is not an object"),
        ('{"cells": [{"cell_type": "code", "source": 1}]}', (1, 1), "the source of cell 1"),
        ('{"worksheets": [{}]}', (1, 1), "worksheet 1"),
    ],
)
def test_what_is_no_notebook(text: str, place: tuple[int, int], words: str) -> None:
    """Said in one line, with its place where there is one."""
    read = NOTEBOOK.read(text)
    assert isinstance(read, Unusable)
    assert (read.code, (read.position.row, read.position.column)) == ("GRD002", place)
    assert words in read.message


def test_version_3_is_read_and_written() -> None:
    """With its worksheets, whose cells have inputs."""
    text = '{"worksheets": [{"cells": [{"cell_type": "code", "input": ["x\\n", "y"]}]}], "nbformat": 3}'
    read = NOTEBOOK.read(text)
    assert isinstance(read, Document)
    assert read.sources == {1: "x\ny"}
    assert NOTEBOOK.rewrite(text, {1: "x\nz\n"}) == text.replace('"y"', '"z\\n"')


@pytest.mark.parametrize(
    ("before", "new", "after"),
    [
        ('["a\\n", "b"]', "a\nc", '["a\\n", "c"]'),
        ('["a\\n", "a\\/\\n", "b\\n", "a"]', "c\na/\nd\na", '["c\\n", "a\\/\\n", "d\\n", "a"]'),
        ('[\n   "a\\n",\n   "b"\n  ]', "a\nc\nb", '[\n   "a\\n",\n   "c\\n",\n   "b"\n  ]'),
        ('["\\u00e9\\n", "b"]', "é\nü", '["\\u00e9\\n", "\\u00fc"]'),
        ('["é\\n", "b"]', "é\nü", '["é\\n", "ü"]'),
        ('"a\\/b"', "c", '"c"'),
        ("[]", "c", '["c"]'),
        ('["a"]', "", "[]"),
    ],
)
def test_only_the_source_changes(before: str, new: str, after: str) -> None:
    """And of it only the lines that do; blanks, escapes, order of keys and the end stay."""
    text = (
        '{ "nbformat":4, "cells" : [\t{"outputs": ["a", {"source": ["b"]}], "source":%s,"cell_type" : "code"} ] }\n\n'
    )
    written = NOTEBOOK.rewrite(text % before, {1: new})
    assert written == text % after
    assert "".join(json.loads(written)["cells"][0]["source"]) == new


def test_only_code_in_python_counts() -> None:
    """Cells of all kinds count for the number; one in another language makes nothing unsure."""
    read = NOTEBOOK.read(notebook(("markdown", "x ="), ("raw", "x ="), "x", "%%bash\nls ("))
    assert isinstance(read, Document)
    assert [piece.number for program in read.programs for piece in program.pieces] == [3]
    assert (read.refused, read.whole) == ((), True)


def test_several_cells_are_written_at_once() -> None:
    """Each in its place, and a cell that did not change as it was."""
    text = notebook("a\nb", "c", "d\ne")
    assert NOTEBOOK.rewrite(text, {3: "d", 1: "a\nb\nc"}) == notebook("a\nb\nc", "c", "d")
