"""Severities: what is shown, what fails a run, and what the configuration makes of a rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint.settings.config import Config, FileIgnore
from tests.entrypoints.conftest import Run
from tests.settings.conftest import Tree, codes

ERROR, WARNING, INFO = "fault_a\n", "fault_b\n", "fault_i\n"


@pytest.mark.parametrize(
    ("program", "arguments", "code", "shown"),
    [
        (INFO, [], 0, ["GRD103"]),
        (WARNING, [], 1, ["GRD102"]),
        (INFO, ["--fail-on", "info"], 1, ["GRD103"]),
        (WARNING, ["--fail-on", "error"], 0, ["GRD102"]),
        (ERROR, ["--fail-on", "error"], 1, ["GRD101"]),
        (ERROR, ["--fail-on", "never"], 0, ["GRD101"]),
        (ERROR + WARNING + INFO, ["--min-severity", "warning"], 1, ["GRD101", "GRD102"]),
        (INFO, ["--min-severity", "warning", "--fail-on", "info"], 0, []),
        (INFO, ["--preset", "strict"], 1, ["GRD103", "GRD801"]),
        (INFO, ["--preset", "strict", "--fail-on", "error"], 0, ["GRD103", "GRD801"]),
        (INFO, ("--preview",), 0, ["GRD103", "GRD802"]),
        (INFO, ["--config", "severity.GRD103 = 'error'"], 1, ["GRD103"]),
        (ERROR, ["--config", "severity = {GRD1 = 'info', leaf-inplace = 'warning'}"], 1, ["GRD101"]),
        (ERROR, ["--config", "severity.GRD1 = 'info'", "--min-severity", "warning"], 0, []),
    ],
)
def test_thresholds(
    run: Run, tree: Tree, program: str, arguments: tuple[str, ...], code: int, shown: list[str]
) -> None:
    """What is not shown does not count, and an info fails no run unless that is asked for."""
    tree({"a.py": f"import torch\n{program}"})
    ran = run("check", *arguments)
    assert (ran.code, codes(ran)) == (code, shown)


def test_that_findings_do_not_fail_the_run_is_said(run: Run, tree: Tree) -> None:
    """Where it was not asked for."""
    tree({"a.py": f"import torch\n{INFO}"})
    assert run("check").err[1] == (
        "No finding is more severe than info, so the run does not fail for them; `--fail-on info` changes that."
    )
    for arguments in (("--fail-on", "never"), ("--exit-zero",), ("--fail-on", "info"), ("--diff",)):
        assert len(run("check", *arguments).err) == 1


def test_each_file_fails_by_its_own_configuration(run: Run, tree: Tree) -> None:
    """As everything else, but for how findings are written."""
    tree({"gradlint.toml": "fail-on = 'never'", "a.py": f"import torch\n{ERROR}", "sub/b.py": f"import torch\n{ERROR}"})
    assert run("check").code == 0
    tree({"sub/gradlint.toml": ""})
    assert run("check").code == 1


def test_what_is_not_shown_is_not_fixed(run: Run, tree: Tree) -> None:
    """Nor offered."""
    root = tree({"a.py": "import torch\nfault_safe\n"})
    ran = run("check", "--fix", "--min-severity", "error")
    assert (ran.code, ran.out, "fix" in "".join(ran.err)) == (0, [], False)
    assert (root / "a.py").read_text() == "import torch\nfault_safe\n"


def test_a_comment_that_silences_what_is_not_shown_is_needed(run: Run, tree: Tree) -> None:
    """The next run may show it."""
    tree({"a.py": "import torch\nfault_b  # noqa: GRD102\n"})
    assert run("check", "--min-severity", "error").out == []


def test_the_path_of_a_file_is_asked_for_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """However many patterns and rules there are."""
    asked: list[Path] = []
    absolute = Path.absolute

    def ask(path: Path) -> Path:
        asked.append(path)
        return absolute(path)

    monkeypatch.setattr(Path, "absolute", ask)
    ignores = tuple(FileIgnore(tmp_path, f"{number}.py", ("GRD1", "GRD2")) for number in range(9))
    assert Config(root=tmp_path, per_file_ignores=ignores).ignored(str(tmp_path / "3.py")) == ["GRD1", "GRD2"]
    assert len(asked) == 1
