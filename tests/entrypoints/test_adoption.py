"""A project with findings comes to use gradlint: baselines, comments written for it, and changed lines alone."""

from __future__ import annotations

import ast
import json
import os
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.entrypoints.conftest import Run

Tree = Callable[[Mapping[str, str | bytes]], Path]
TWO = "import torch\nfault_a\nfault_b\n"
GIT_ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_SYSTEM": os.devnull,
    **{f"GIT_{who}_{what}": "a@b.c" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")},
}


@pytest.fixture
def git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Run git in the tree, which becomes a repository."""
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in GIT_ENVIRONMENT.items():
        monkeypatch.setenv(name, value)

    def run_git(*arguments: str) -> None:
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True, capture_output=True)

    run_git("init", "--quiet", "--initial-branch", "main")
    return run_git


def test_a_baseline_hides_what_is_known_until_it_changes(run: Run, tree: Tree) -> None:
    """Moved lines stay known; a new finding fails; what was fixed is stale."""
    root = tree({"a.py": TWO, "b.py": TWO})
    written = run("check", "--write-baseline", "base.json")
    assert (written.code, written.out, written.err[-1]) == (0, [], "Wrote 4 findings to base.json.")
    assert run("check", "--baseline", "base.json").code == 0
    tree({"a.py": "import torch\n\n\n  \nfault_b\nx = fault_a\n"})
    ran = run("check", "--baseline", "base.json")
    assert (ran.code, ran.out) == (1, ["a.py:6:5: error: GRD101 leaf-inplace: torch raises here"])
    assert ran.err[-2:] == [
        "3 findings known from base.json.",
        "1 finding of the baseline is no longer found; `--write-baseline base.json` removes it.",
    ]
    assert run("check", "--baseline", "base.json", "b.py").err[-1] == "2 findings known from base.json."
    (root / "a.py").unlink()
    assert run("check", "--baseline", "base.json", "b.py").err[-2:] == [
        "2 findings known from base.json.",
        "2 findings of the baseline are no longer found; `--write-baseline base.json` removes them.",
    ]


def test_a_baseline_is_sorted_counted_and_set_in_the_configuration(
    run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its paths are those below its own folder, from wherever gradlint runs."""
    root = tree({"pkg/b.py": TWO, "pkg/a.py": TWO, "gradlint.toml": 'baseline = "base.json"\n'})
    run("check", "--write-baseline", "base.json")
    document = json.loads((root / "base.json").read_text())
    assert (document["version"], document["count"]) == (1, 4)
    assert [(one["file"], one["code"]) for one in document["findings"]] == [
        (file, code) for file in ("pkg/a.py", "pkg/b.py") for code in ("GRD101", "GRD102")
    ]
    before = (root / "base.json").read_bytes()
    run("check", "pkg/b.py", "pkg/a.py", "--write-baseline", "base.json")
    assert (root / "base.json").read_bytes() == before
    assert run("check").code == 0
    monkeypatch.chdir(root / "pkg")
    assert run("check", "a.py").code == 0


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (None, "there is no baseline "),
        ("{", "no baseline: Expecting property name"),
        ("\udcff", "no baseline: 'utf-8' codec"),
        ("[" * 100_000, "no baseline: maximum recursion"),
        ("[]", "no baseline: it has no list of `findings`"),
        ('{"version": 9, "findings": []}', "a baseline of version 9, and not of 1"),
        ('{"version": 1, "findings": [{"file": "a"}]}', "finding 1: not a file, a code, a fingerprint and a count"),
        ("huge", "no baseline: more than 50 MB"),
        ("fifo", "this is a FIFO, not a file"),
    ],
)
def test_a_wrong_baseline_is_one_line(run: Run, tree: Tree, content: str | None, said: str) -> None:
    """It ends the run before anything is checked."""
    root = tree({"a.py": TWO})
    if content == "fifo":
        os.mkfifo(root / "base.json")
    elif content == "huge":
        with (root / "base.json").open("wb") as stream:
            stream.truncate(60_000_000)
    elif content is not None:
        (root / "base.json").write_bytes(content.encode(errors="surrogateescape"))
    ran = run("check", "--baseline", "base.json")
    assert (ran.code, ran.out) == (2, [])
    assert said in str(ran.err)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("fault_a", "fault_a  # gradlint: ignore[GRD101]"),
        ("fault_a, fault_b  # why", "fault_a, fault_b  # why  # gradlint: ignore[GRD101, GRD102]"),
        ("x = (fault_a,\n  1)", "x = (fault_a,  # gradlint: ignore[GRD101]\n  1)"),
        ("x = fault_a, \\\n  1", "x = fault_a, \\\n  1  # gradlint: ignore[GRD101]"),
        ('x = fault_a, """\n# """', 'x = fault_a, """\n# """  # gradlint: ignore[GRD101]'),
        (
            "fault_b, fault_a  # gradlint: ignore[GRD102] why",
            "fault_b, fault_a  # gradlint: ignore[GRD102, GRD101] why",
        ),
        ("if fault_a:\r\n    pass", "if fault_a:  # gradlint: ignore[GRD101]\r\n    pass"),
        ("x = '''\n''', fault_a, '''\n''', \\\n", None),
    ],
)
def test_comments_are_written_where_they_can_stand(run: Run, tree: Tree, before: str, after: str | None) -> None:
    """The program stays the same; a second run has nothing to do."""
    text = f"import torch\n{before}\n"
    root = tree({"a.py": text, "other.txt": text})
    ran = run("check", "--add-noqa")
    written = (root / "a.py").read_bytes().decode()
    assert written == (text if after is None else f"import torch\n{after}\n")
    assert (ran.code, run("check").code) == ((1, 1) if after is None else (0, 0))
    assert ast.dump(ast.parse(written)) == ast.dump(ast.parse(text))
    run("check", "--add-noqa")
    assert (root / "a.py").read_bytes().decode() == written


def test_only_changed_lines_count(run: Run, tree: Tree, git: Callable[..., None]) -> None:
    """Those of commits since the branch left, those of the working tree, and new files."""
    old = "import torch\nx = 1\nfault_b\n\n\ny = 1\n\n\nz = 1\nfault_b\n"
    root = tree({"a.py": old, "b.py": TWO})
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    assert run("check", "--diff-base", "main").code == 0
    git("checkout", "--quiet", "-b", "topic")
    tree({"b.py": TWO + "fault_b\n"})
    git("commit", "--quiet", "--all", "--message", "two")
    tree({"a.py": old.replace("y = 1", "fault_a").replace("z = 1\n", ""), "sub dir/ü.py": TWO})
    ran = run("check", "--diff-base", "main")
    assert [line.rpartition(": GRD")[0].rpartition(" ")[0] for line in ran.out] == [
        *("a.py:6:1:", "a.py:9:1:", "b.py:4:1:", "sub dir/ü.py:2:1:", "sub dir/ü.py:3:1:")
    ]
    assert (ran.code, ran.err[-1]) == (1, "3 findings on lines unchanged since main.")
    assert (root / ".git").is_dir()


def test_a_finding_whose_cause_changed_counts(run: Run, tree: Tree, git: Callable[..., None]) -> None:
    """The fake rule names the first fault of the file beside each other one."""
    tree({"a.py": "import torch\nx = 1\nfault_a\n"})
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    tree({"a.py": "import torch\nfault_b\nfault_a\n"})
    assert [line.split()[2] for line in run("check", "--diff-base", "HEAD").out] == ["GRD102", "GRD101"]


@pytest.mark.parametrize(
    ("reference", "said"),
    [
        ("nothing", "`nothing` names no commit of this repository"),
        ("--output=x", "`--output=x` names no commit"),
        ("HEAD:a.py", "names no commit"),
    ],
)
def test_a_wrong_commit_is_one_line(run: Run, tree: Tree, git: Callable[..., None], reference: str, said: str) -> None:
    """Before anything is checked."""
    tree({"a.py": TWO})
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    ran = run("check", f"--diff-base={reference}")
    assert (ran.code, ran.out) == (2, [])
    assert said in str(ran.err)


def test_nothing_of_the_repository_runs(run: Run, tree: Tree, git: Callable[..., None]) -> None:
    """Neither a monitor, nor a driver, a filter or a hook that its configuration names."""
    root = tree({"a.py": TWO, ".gitattributes": "*.py filter=evil diff=evil\n"})
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    evil = f"touch {root}/ran"
    for key in ("core.fsmonitor", "diff.external", "diff.evil.command", "diff.evil.textconv", "filter.evil.clean"):
        git("config", key, evil)
    tree({"a.py": TWO + "fault_a\n"})
    assert run("check", "--diff-base", "HEAD").out == ["a.py:4:1: error: GRD101 leaf-inplace: torch raises here"]
    assert not (root / "ran").exists()


def test_no_repository_and_no_git(run: Run, tree: Tree, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line each, exit 2."""
    tree({"a.py": TWO})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    ran = run("check", "--diff-base", "HEAD")
    assert ran.code == 2 and "the current directory is not inside a git repository" in str(ran.err)
    monkeypatch.setenv("PATH", "")
    ran = run("check", "--diff-base", "HEAD")
    assert ran.code == 2 and "git cannot be run" in str(ran.err)


def test_nothing_is_said_of_no_findings(run: Run, tree: Tree, git: Callable[..., None]) -> None:
    """Neither of a baseline, nor of unchanged lines, nor of comments."""
    tree({"a.py": "import torch\n"})
    git("add", ".")
    git("commit", "--quiet", "--message", "one")
    run("check", "--write-baseline", "base.json")
    for arguments in (["--baseline", "base.json"], ["--diff-base", "HEAD"], ["--add-noqa"]):
        assert [line for line in run("check", *arguments).err if "0 findings" in line] == []


@pytest.mark.parametrize(
    "arguments",
    [
        ("--write-baseline", "b", "--baseline", "b"),
        ("--add-noqa", "--write-baseline", "b"),
        ("--add-noqa", "--diff"),
        ("--diff-base", "HEAD", "--fix"),
    ],
)
def test_what_does_not_go_together(run: Run, tree: Tree, arguments: tuple[str, ...]) -> None:
    """It is refused, and nothing is written."""
    root = tree({"a.py": TWO})
    ran = run("check", *arguments)
    assert (ran.code, ran.out) == (2, [])
    assert "cannot be combined with" in str(ran.err)
    assert sorted(path.name for path in root.iterdir()) == ["a.py"]
