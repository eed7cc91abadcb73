"""What is kept from one check for the next changes nothing: after each edit there is what a first check finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.server import session
from gradlint.outcome import Checked
from gradlint.server.checks import Checks, Context
from gradlint.server.documents import Cell, Document
from gradlint.server.settings import Settings
from gradlint.server.texts import Text
from tests.other_files.programs import Project, projects_under

PAGES = Path(__file__).parents[1] / "other_files"
EDITS = 8


@pytest.mark.parametrize("project", projects_under(PAGES), ids=lambda project: project.name)
def test_edits_of_several_files(project: Project, tmp_path: Path) -> None:
    """One after the other, in any order; each text that is a program counts for the others."""
    project.write(tmp_path)
    chance, checks = Random(0), Checks(Settings().configs(tmp_path))
    typing = {name: _texts(text, seed) for seed, (name, text) in enumerate(project.files.items())}
    held: dict[str, str] = {}
    for _ in range(EDITS * len(typing)):
        name = chance.choice(list(typing))
        path, text = str(tmp_path / name), next(typing[name])
        first = Checks(Settings().configs(tmp_path))
        for other, known in held.items():
            first.checker.hold(other, known)
        found = _checked(checks, path, text)
        assert found == _checked(first, path, text)
        if all(one.effect != "invalid" for one in found.findings):
            held[path] = text


def test_a_name_comes_into_a_file_of_which_all_names_are_imported(tmp_path: Path) -> None:
    """Which was only searched for the name before."""
    low, main = str(tmp_path / "low.py"), str(tmp_path / "main.py")
    Path(low).write_text("import torch\n")
    (tmp_path / "mid.py").write_text("import torch\nfrom low import *\nw = torch.ones(3, requires_grad=flag)\n")
    text = "import torch\nfrom mid import w\nw += 1\n"
    Path(main).write_text(text)
    checks = Checks(Settings().configs(tmp_path))
    assert _checked(checks, main, text).findings == ()
    _checked(checks, low, "import torch\nflag = True\n")
    assert [one.code for one in _checked(checks, main, text).findings] == ["GRD101"]


def _texts(text: str, seed: int) -> Iterator[str]:
    """Yield the text of a file, and what it becomes while somebody types."""
    yield text
    yield from (after for _, after in session(text, seed=seed))


def _checked(checks: Checks, path: str, text: str) -> Checked:
    """Return what is found in a text, and which other files that rests on."""
    uri = Path(path).as_uri()
    checked = checks.check(Document(uri, (Cell(uri, Text(text)),)), Context()).checked
    assert checked is not None and checked.crash is None
    return replace(checked, digest=None)
