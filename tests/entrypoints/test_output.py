"""`--output-format`, `--output-file` and `--color` of `gradlint check`."""

from __future__ import annotations

import json
import os
import stat
import threading
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from gradlint.settings.keys import FORMATS
from gradlint.source.kept import FOLDER
from tests.entrypoints.conftest import Run
from tests.entrypoints.fakes import MORE

Tree = Callable[[Mapping[str, str | bytes]], Path]
ONE = "import torch\nfault_a\n"
LINE = "a.py:2:1: error: GRD101 leaf-inplace: torch raises here"
SUMMARY = "1 finding (1 error) in 1 file: 1 file checked, 1 of which is about torch."


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_can_be_asked_for(run: Run, tree: Tree, name: str) -> None:
    """By option and by key; where nothing is found as well."""
    tree({"a.py": ONE})
    asked = run("check", "--output-format", name)
    assert (asked.code, asked.err) == (1, [SUMMARY, MORE])
    assert any("torch raises here" in line for line in asked.out)
    tree({"gradlint.toml": f'output-format = "{name}"'})
    assert run("check") == asked
    tree({"a.py": "import torch\n"})
    assert run("check").code == 0


def test_a_log_of_github_gets_what_others_get(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """Annotations are made where they are asked for."""
    tree({"a.py": ONE})
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert run("check").out == [LINE]


def test_a_file_gets_the_findings(run: Run, tree: Tree) -> None:
    """The summary stays on standard error; a clean run leaves a document as well."""
    root = tree({"a.py": ONE})
    ran = run("check", "--output-format", "json", "--output-file", "out.json")
    assert (ran.code, ran.out, ran.err) == (1, [], [SUMMARY, MORE])
    assert [one["code"] for one in json.loads((root / "out.json").read_text())] == ["GRD101"]
    tree({"a.py": "import torch\n"})
    assert run("check", "--output-format", "json", "-o", "out.json").code == 0
    assert (root / "out.json").read_text() == "[]\n"
    assert {path.name for path in root.iterdir()} == {"a.py", "out.json", FOLDER}


def test_a_file_keeps_its_mode_and_its_links(run: Run, tree: Tree) -> None:
    """It is replaced as a whole; a new one gets the mode of other new files."""
    root = tree({"a.py": ONE, "old.txt": "old", "new.txt": ""})
    (root / "old.txt").chmod(0o640)
    (root / "link.txt").symlink_to("old.txt")
    run("check", "-o", "link.txt")
    assert (root / "link.txt").is_symlink()
    assert (root / "old.txt").read_text() == f"{LINE}\n"
    assert stat.S_IMODE((root / "old.txt").stat().st_mode) == 0o640
    run("check", "-o", "made.txt")
    assert (root / "made.txt").stat().st_mode == (root / "new.txt").stat().st_mode


def test_a_fifo_stays_one(run: Run, tree: Tree) -> None:
    """Its reader gets the findings."""
    root = tree({"a.py": ONE})
    os.mkfifo(root / "pipe")
    read: list[str] = []
    reader = threading.Thread(target=lambda: read.append((root / "pipe").read_text()))
    reader.start()
    assert run("check", "a.py", "-o", "pipe").code == 1
    reader.join()
    assert read == [f"{LINE}\n"]
    assert stat.S_ISFIFO((root / "pipe").stat().st_mode)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "."), "--output-file: . is a directory"),
        (("-o", "no/such/out.txt"), "--output-file: there is no directory no/such"),
        (("-o", "out.txt", "--diff"), "--diff and --output-file exclude each other"),
    ],
)
def test_a_file_that_cannot_be_meant(run: Run, tree: Tree, arguments: tuple[str, ...], message: str) -> None:
    """One line, exit 2, before anything is checked."""
    tree({"a.py": ONE})
    ran = run("check", *arguments)
    assert (ran.code, ran.out, len(ran.err)) == (2, [], 1)
    assert ran.err[0].startswith(f"gradlint: error: {message}")


def test_a_file_that_cannot_be_written(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line beside the summary, exit 2, and the old file is as it was."""
    root = tree({"a.py": ONE, "out.txt": "old"})

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    ran = run("check", "--exit-zero", "-o", "out.txt")
    assert (ran.code, ran.out) == (2, [])
    assert ran.err == ["gradlint: error: out.txt: cannot be written: No space left on device", SUMMARY, MORE]
    assert (root / "out.txt").read_text() == "old"
    assert {path.name for path in root.iterdir()} == {"a.py", "out.txt", FOLDER}


def test_a_mended_text_and_a_file(run: Run, tree: Tree) -> None:
    """Standard output is for the text, the file for what is left to find."""
    root = tree({})
    ran = run("check", "--fix", "-", "-o", "out.txt", stdin=b"import torch\nfault_safe\nfault_a\n")
    assert ran.out == ["import torch", "mended", "fault_a"]
    assert (root / "out.txt").read_text() == "-:3:1: error: GRD101 leaf-inplace: torch raises here\n"


def test_colour(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The option, and a variable; a file is coloured by the option alone."""
    root = tree({"a.py": ONE})
    coloured = "\x1b[1ma.py\x1b[0m:2:1: \x1b[1;31merror:\x1b[0m \x1b[1mGRD101\x1b[0m leaf-inplace: torch raises here"
    assert run("check", "--color", "always").out == [coloured]
    monkeypatch.setenv("FORCE_COLOR", "1")
    assert run("check").out == [coloured]
    assert run("check", "--color", "never").out == [LINE]
    run("check", "-o", "out.txt")
    assert (root / "out.txt").read_text() == f"{LINE}\n"
    run("check", "-o", "out.txt", "--color", "always")
    assert (root / "out.txt").read_text() == f"{coloured}\n"
