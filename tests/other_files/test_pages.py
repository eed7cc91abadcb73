"""Programs of several files: gradlint finds what is marked, in whatever order it reads them, and torch agrees."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gradlint import Config, check_paths
from gradlint.check import check_content
from tests.harness.torch_run import run_under_torch
from tests.other_files.programs import Project, projects_under

PROJECTS = projects_under(Path(__file__).parent)
every_project = pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)


def findings(folder: Path, paths: list[Path]) -> list[tuple[str, int, str]]:
    """File, line and code of each finding; a crash of gradlint fails the test."""
    outcome = check_paths(paths, Config())
    assert outcome.crashes == ()
    return sorted(
        (Path(found.filename).relative_to(folder).as_posix(), found.span.start.row, found.code)
        for found in outcome.findings
    )


@every_project
def test_gradlint_finds_exactly_what_is_marked(project: Project, tmp_path: Path) -> None:
    """Over the whole folder."""
    project.write(tmp_path)
    assert findings(tmp_path, [tmp_path]) == project.findings


@every_project
def test_the_order_of_the_files_does_not_matter(project: Project, tmp_path: Path) -> None:
    """From the last to the first, and each first for once."""
    project.write(tmp_path)
    paths = [tmp_path / name for name in project.files]
    for shift in range(len(paths)):
        assert findings(tmp_path, paths[shift:] + paths[:shift]) == project.findings
    assert findings(tmp_path, paths[::-1]) == project.findings


@every_project
def test_a_file_that_is_named_alone_shows_the_same(project: Project, tmp_path: Path) -> None:
    """What imports it is read, too."""
    project.write(tmp_path)
    (tmp_path / "pyproject.toml").touch()
    for name in project.files:
        path = tmp_path / name
        own = [found for found in project.findings if found[0] == name]
        assert findings(tmp_path, [path]) == own
        piped = check_content(path.read_bytes(), str(path), Config())
        assert [(found.span.start.row, found.code) for found in piped.findings] == [found[1:] for found in own]


@every_project
def test_torch_raises_where_it_is_marked_and_nowhere_else(project: Project) -> None:
    """What a page says of torch is executed."""
    outcome = run_under_torch(project.bootstrap)
    assert outcome.broken is None
    if project.raises is None:
        assert outcome.raised is None
        return
    file, line, pattern = project.raises
    assert outcome.raised is not None
    assert outcome.raised.text.startswith(f"{file}:{line}: ")
    assert re.search(pattern, outcome.raised.text)
