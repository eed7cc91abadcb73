"""Programs that use installed packages: what is found in them where the source is read, and what torch says."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from gradlint import Config, check_paths
from tests.harness.torch_run import run_under_torch
from tests.other_files.programs import Project, projects_under

INSTALLED = "installed/"
PROJECTS = projects_under(Path(__file__).parent)
every_project = pytest.mark.parametrize("project", PROJECTS, ids=lambda project: project.name)


def write(project: Project, folder: Path) -> Config:
    """Put the files of a project into a folder, and what is installed into an environment beside it."""
    site = folder / "environment" / "lib" / "python3.11" / "site-packages"
    installed = {name.removeprefix(INSTALLED): text for name, text in project.files.items() if INSTALLED in name}
    replace(project, files=installed).write(site)
    own = {name: text for name, text in project.files.items() if INSTALLED not in name}
    replace(project, files=own).write(folder / "project")
    return Config(root=folder, environment=folder / "environment")


def findings(folder: Path, config: Config) -> list[tuple[str, int, str]]:
    """File, line and code of each finding; a crash of gradlint fails the test."""
    outcome = check_paths([folder / "project"], config)
    assert outcome.crashes == ()
    assert outcome.warnings == ()
    return sorted((Path(one.filename).name, one.span.start.row, one.code) for one in outcome.findings)


@every_project
def test_gradlint_finds_exactly_what_is_marked(project: Project, tmp_path: Path) -> None:
    """And the same in a second run, which has the cache of the first."""
    config = write(project, tmp_path)
    assert findings(tmp_path, config) == project.findings
    assert findings(tmp_path, config) == project.findings


@every_project
def test_torch_raises_where_it_is_marked_and_nowhere_else(project: Project) -> None:
    """What a page says of torch is executed, with the packages beside the program."""
    beside = replace(project, files={name.removeprefix(INSTALLED): text for name, text in project.files.items()})
    outcome = run_under_torch(beside.bootstrap)
    assert outcome.broken is None
    if project.raises is None:
        assert outcome.raised is None
        return
    _, _, pattern = project.raises
    assert outcome.raised is not None
    assert re.search(pattern, outcome.raised.text)
