"""`gradlint check` on notebooks and on documents with Python in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gradlint.entrypoints.check import check
from tests.entrypoints.conftest import Run
from tests.harness.notebooks import notebook

Tree = Callable[[Mapping[str, str | bytes]], Path]
BOOK = notebook(
    ("markdown", "# fault_a"),
    "%matplotlib inline\nimport torch\nfault_c",
    "%%time\nif fault_a:\n    !ls\n    fault_safe",
)


def test_cells_are_one_program_with_places_of_their_own(run: Run, tree: Tree) -> None:
    """What explains a finding may stand in another cell; both are named."""
    tree({"a.ipynb": BOOK})
    assert run("check").out == [
        "a.ipynb:cell 3:2:4: error: GRD101 leaf-inplace: torch raises here",
        "a.ipynb:cell 3:4:5: warning: GRD102 leaf-view-inplace [*]: memory grows",
    ]
    full = run("check", "--output-format", "full").out
    assert full[1:5] == [" --> a.ipynb:cell 3:2:4", "  |", "2 | if fault_a:", "  |    ^^^^^^^"]
    assert full[5] == " ::: a.ipynb:cell 2:3:1: the leaf is made here"
    found = json.loads("\n".join(run("check", "--output-format", "json").out))
    assert [(one["cell"], one["location"]["row"]) for one in found] == [(3, 2), (3, 4)]
    assert found[0]["related"][0]["cell"] == 2
    assert found[1]["fix"]["edits"][0]["cell"] == 3


def test_fix_changes_the_source_and_nothing_else(run: Run, tree: Tree) -> None:
    """On disk, and from standard input to standard output; `--diff` shows cells."""
    root = tree({"a.ipynb": BOOK})
    mended = BOOK.replace("fault_safe", "mended")
    assert run("check", "--diff").out[:3] == ["--- a.ipynb:cell 3", "+++ a.ipynb:cell 3", "@@ -1,4 +1,4 @@"]
    piped = run("check", "-", "--stdin-filename", "b.ipynb", "--fix", stdin=BOOK.encode())
    assert "\n".join(piped.out) == mended
    run("check", "--fix")
    assert (root / "a.ipynb").read_text() == mended


def test_what_is_not_checked(run: Run, tree: Tree) -> None:
    """A notebook in another language, and a cell that is no Python; the rest is."""
    tree(
        {
            "a.ipynb": notebook("import torch; fault_a", language="julia"),
            "b.ipynb": notebook("import torch\nx = ", "import torch\nfault_a"),
            "c.ipynb": notebook("fault_a"),
        }
    )
    ran = run("check", ".")
    assert ran.out == [
        "b.ipynb:cell 1:2:5: error: GRD001 invalid-syntax: invalid syntax",
        "b.ipynb:cell 2:2:1: error: GRD101 leaf-inplace: torch raises here",
    ]
    assert ran.err[0] == "gradlint: warning: a.ipynb: not checked: its kernel is for julia"


@pytest.mark.parametrize(("counts", "warns"), [((1, 2), False), ((2, 1), True), ((None, 1), False)])
def test_the_order_of_execution(run: Run, tree: Tree, counts: tuple[int | None, ...], warns: bool) -> None:
    """One line, where something is found."""
    tree({"a.ipynb": notebook("import torch", "fault_a", executed=counts)})
    assert any("out of order" in line for line in run("check").err) == warns


def test_comments_silence(run: Run, tree: Tree) -> None:
    """In their cell."""
    tree({"a.ipynb": notebook("import torch\nfault_a  # noqa: GRD101", "fault_b")})
    assert run("check").out == ["a.ipynb:cell 2:1:1: warning: GRD102 leaf-view-inplace: memory grows"]


def test_broken_json_has_a_place(run: Run, tree: Tree) -> None:
    """As bytes that are no text do."""
    tree({"a.ipynb": '{\n "cells": torch\n}', "b.ipynb": b'{"torch": "\xff"}'})
    assert [line.split(" ")[0:3:2] for line in run("check").out] == [
        ["a.ipynb:2:11:", "GRD002"],
        ["b.ipynb:1:12:", "GRD002"],
    ]


def test_documents_are_checked_when_they_are_asked_for(run: Run, tree: Tree) -> None:
    """By name, by an option, or by the configuration; rows are those of the document."""
    page = "# coding: a\n\n```python\nimport torch\nfault_safe\n```\n\n```python\nfault_b; torch\n>>> x\n```\n"
    root = tree(
        {"a.md": page, "b.rst": "A\n\n.. code:: python\n\n  import torch\n  fault_a\n", "c.py": "import torch\n"}
    )
    assert run("check").out == []
    found = ["a.md:5:1: warning: GRD102 leaf-view-inplace [*]: memory grows"]
    assert run("check", "a.md").out == found
    assert run("check", "--extend-include", "*.md").out == found
    tree({"gradlint.toml": 'extend-include = ["*.rst"]'})
    ran = run("check")
    assert ran.out == ["b.rst:6:3: error: GRD101 leaf-inplace: torch raises here"]
    ran = run("check", "a.md", "--fix")
    assert ran.err[0] == "gradlint: warning: a.md: 1 of 2 Python blocks are no programs, and are not checked"
    assert (root / "a.md").read_text() == page.replace("fault_safe", "mended")


def test_the_option_is_documented() -> None:
    """With its pattern."""
    assert any("--extend-include" in option.opts for option in check.params)


@pytest.mark.parametrize(("name", "limit"), [("a.ipynb", 50_000_000), ("a.md", 10_000_000), ("a.py", 10_000_000)])
def test_each_kind_of_file_has_a_limit(run: Run, tree: Tree, name: str, limit: int) -> None:
    """The same on disk and on standard input, and the error names it."""
    root = tree({name: BOOK})
    with (root / name).open("r+b") as file:
        file.truncate(limit + 1)
    (line,) = run("check", name).out
    assert line.endswith(f"the file has more than {limit:,} bytes")
    piped = run("check", "-", "--stdin-filename", name, stdin=b" " * (limit + 1))
    assert (piped.code, piped.err) == (2, [f"gradlint: error: standard input has more than {limit:,} bytes"])


def test_a_notebook_with_large_outputs_is_checked_and_mended(run: Run, tree: Tree) -> None:
    """They are no program."""
    book = BOOK.replace('"a kernel"', f'"{"a" * 11_000_000}"')
    root = tree({"a.ipynb": book})
    assert run("check", "--fix").code == 1
    assert (root / "a.ipynb").read_text() == book.replace("fault_safe", "mended")
