"""The hook in a real pre-commit, in a repository made for it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import gradlint

ROOT = Path(gradlint.__file__).parents[1]
SHIPPED = ("gradlint", "pyproject.toml", "README.md", "LICENSE", ".pre-commit-hooks.yaml")
ISOLATED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
CONFIG = """\
repos:
  - repo: {hook}
    rev: {revision}
    hooks:
      - id: gradlint
      - id: gradlint-all
"""
CALLED = "import torch\n\n\ndef add(weight):\n    weight += 1\n"
CALLER = "import torch\nfrom helper import add\n\nadd(torch.ones(3, requires_grad=True))\n"


def git(folder: Path, *arguments: str) -> str:
    """Run git with an identity of its own, whatever the machine has."""
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, *arguments]
    return subprocess.run(
        command, cwd=folder, env={**os.environ, **ISOLATED}, capture_output=True, text=True, check=True
    ).stdout.strip()


def repository(folder: Path) -> str:
    """Make the folder a repository with everything in it committed; its revision."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")
    return git(folder, "rev-parse", "HEAD")


def test_the_hook_finds_what_the_command_finds(tmp_path: Path) -> None:
    """A committed file with a fault fails both hooks with our line; an excluded one and a clean one do not.

    What only a caller in another file shows is found by both, also when the caller is not committed with it.
    """
    hook, user = tmp_path / "hook", tmp_path / "user"
    for name in SHIPPED:
        source = ROOT / name
        copy = shutil.copytree if source.is_dir() else shutil.copy
        hook.mkdir(exist_ok=True)
        copy(source, hook / name)
    user.mkdir()
    fault = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
    (user / "a.py").write_text(fault)
    (user / "venv").mkdir()
    (user / "venv" / "b.py").write_text(fault)
    (user / ".pre-commit-config.yaml").write_text(CONFIG.format(hook=hook, revision=repository(hook)))
    (user / "helper.py").write_text(CALLED)
    (user / "main.py").write_text(CALLER)
    repository(user)
    single, whole = pre_commit(user, tmp_path, "gradlint"), pre_commit(user, tmp_path, "gradlint-all")
    for said in (single, whole):
        assert "a.py:3:1: error: GRD101 leaf-inplace: `+=` writes in place to the leaf `w`" in said
        assert "helper.py:5:5: error: GRD101" in said
        assert "b.py" not in said


def pre_commit(user: Path, folder: Path, hook: str) -> str:
    """Run one hook over two of the files; it fails, and says why."""
    result = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", hook, "--files", "a.py", "helper.py", "venv/b.py"],
        cwd=user,
        capture_output=True,
        text=True,
        env={**os.environ, **ISOLATED, "PRE_COMMIT_HOME": str(folder / "cache")},
        check=False,
    )
    assert result.returncode == 1, result.stdout + result.stderr
    return result.stdout
