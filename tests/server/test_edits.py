"""What is kept from one check for the next changes nothing: after each edit there is what a first check finds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from random import Random

import pytest

from benchmarks.server import session as edits_of
from gradlint.outcome import Checked
from gradlint.server.checks import Checks, Context, Report
from gradlint.server.documents import Cell, Document
from gradlint.server.session import PAUSE, Session
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
    yield from (after for _, after in edits_of(text, seed=seed))


def _checked(checks: Checks, path: str, text: str) -> Checked:
    """Return what is found in a text, and which other files that rests on."""
    uri = Path(path).as_uri()
    checked = checks.check(Document(uri, (Cell(uri, Text(text)),)), Context()).checked
    assert checked is not None and checked.crash is None
    return replace(checked, digest=None)


def test_the_first_of_several_changes_does_not_wait(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As somebody may wait for it; what follows may be a burst."""
    pauses: list[float] = []
    monkeypatch.setattr(Session, "_take", lambda self, document, pause, now: pauses.append(pause))
    session, uri = Session(_Editor(), tmp_path), "file:///a.py"
    for text in ("x = 1\n", "x = 2\n"):
        session.change(Document(uri, (Cell(uri, Text(text)),)))
    session.end()
    assert pauses == [0.0, PAUSE]


class _Editor:
    """One that shows nothing."""

    def show(self, report: Report) -> None:
        """Show nothing."""

    def clear(self, document: Document) -> None:
        """Clear nothing."""

    def complain(self, problem: str) -> None:
        """Say nothing."""
