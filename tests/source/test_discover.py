"""Which files are found."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gradlint.settings.config import Config
from gradlint.settings.nearest import Configs
from gradlint.source.discover import Discovery


def found(*names: str, config: Config | None = None, force_exclude: bool = False) -> list[str]:
    """The names of the files found."""
    return [file.name for file in Discovery(Configs(config), force_exclude).files(names)]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with files of many kinds."""
    monkeypatch.chdir(tmp_path)
    for name in (
        *(".git/hook.py", "a.py", "notes.txt", "build/gen.py", "pkg/b.py", "pkg/b_pb2.py", "pkg/keep_pb2.py"),
        *(
            "pkg/sub/c.py",
            "pkg/sub/local.py",
            ".venv/lib/v.py",
            "venv/v.py",
            "pkg/__pycache__/x.py",
            "docs/conf.py",
        ),
    ):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("import torch\n")
    (tmp_path / ".gitignore").write_text("build/\n*_pb2.py\n!keep_pb2.py\n/docs/*\n")
    (tmp_path / "pkg" / "sub" / ".gitignore").write_text("local.py\n")
    return tmp_path


def test_gitignore_and_default_excludes(tree: Path) -> None:
    """Python files, sorted, below what is neither ignored nor excluded."""
    expected = ["a.py", "pkg/b.py", "pkg/keep_pb2.py", "pkg/sub/c.py"]
    assert found(".") == expected
    assert found(str(tree)) == [f"{tree}/{name}" for name in expected]


def test_from_below(tree: Path) -> None:
    """What stands in a `.gitignore` further up holds as well."""
    os.chdir(tree / "pkg")
    assert found(".") == ["b.py", "keep_pb2.py", "sub/c.py"]


def test_without_respect_for_gitignore(tree: Path) -> None:
    """As configured."""
    config = Config(root=tree, respect_gitignore=False)
    assert found(".", config=config) == [
        *("a.py", "build/gen.py", "docs/conf.py", "pkg/b.py", "pkg/b_pb2.py", "pkg/keep_pb2.py"),
        *("pkg/sub/c.py", "pkg/sub/local.py"),
    ]


def test_private_excludes_of_a_clone(tree: Path) -> None:
    """`.git/info/exclude` is read where git reads it."""
    (tree / ".git" / "info").mkdir()
    (tree / ".git" / "info" / "exclude").write_text("a.py\n")
    assert found(".") == ["pkg/b.py", "pkg/keep_pb2.py", "pkg/sub/c.py"]


def test_named_files_are_always_found(tree: Path) -> None:
    """Ignored, excluded, of any ending; and directories inside of an excluded one."""
    names = ["build/gen.py", ".venv/lib/v.py", "notes.txt"]
    assert found(*names) == names
    assert found(".venv/lib") == [".venv/lib/v.py"]


def test_force_exclude(tree: Path) -> None:
    """Then they are not, for tools that name every file of a commit."""
    names = ["build/gen.py", ".venv/lib/v.py", "pkg/b_pb2.py", "a.py", "venv"]
    assert found(*names, config=Config(root=tree), force_exclude=True) == ["a.py"]


@pytest.mark.parametrize(
    ("exclude", "expected"),
    [
        (("pkg",), ["a.py"]),
        (("sub",), ["a.py", "pkg/b.py", "pkg/keep_pb2.py"]),
        (("pkg/sub",), ["a.py", "pkg/b.py", "pkg/keep_pb2.py"]),
        (("/sub/",), ["a.py", "pkg/b.py", "pkg/keep_pb2.py", "pkg/sub/c.py"]),
        (("pkg/*.py",), ["a.py", "pkg/sub/c.py"]),
        (("*.py",), []),
        (("[ab].py",), ["pkg/keep_pb2.py", "pkg/sub/c.py"]),
    ],
)
def test_exclude(tree: Path, exclude: tuple[str, ...], expected: list[str]) -> None:
    """A name anywhere, or a path from the configuration's directory."""
    config = Config(root=tree, exclude=(*Config().exclude, *exclude))
    assert found(".", config=config) == expected


def test_outside_of_a_repository(tmp_path: Path) -> None:
    """The `.gitignore` files below the directory count, none above it does."""
    for name in ("a.py", "in/b.py", "in/c.py"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / ".gitignore").write_text("b.py\n")
    assert found(str(tmp_path / "in")) == [f"{tmp_path}/in/b.py", f"{tmp_path}/in/c.py"]
    assert found(str(tmp_path)) == [f"{tmp_path}/a.py", f"{tmp_path}/in/c.py"]


def test_files_around_are_not_sought_in_too_many_directories(tmp_path: Path) -> None:
    """A file in a home directory is not worth a walk through all of it."""
    for name in ("a", "b", "c"):
        (tmp_path / name).mkdir()
    (tmp_path / "a.py").write_text("")
    discovery = Discovery(Configs(Config(root=tmp_path)))
    assert [found.path.name for found in discovery.around([str(tmp_path)], 4)] == ["a.py"]
    assert discovery.around([str(tmp_path)], 3) == []


def test_suffixes_are_compared_without_case(tree: Path) -> None:
    """As they are where a file is read."""
    (tree / "pkg" / "A.IPYNB").write_text("{}")
    assert "pkg/A.IPYNB" in found("pkg")
