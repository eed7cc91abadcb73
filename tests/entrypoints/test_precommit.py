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
CONFIG = """\
repos:
  - repo: {hook}
    rev: {revision}
    hooks:
      - id: gradlint
"""


def git(folder: Path, *arguments: str) -> str:
    """Run git with an identity of its own, whatever the machine has."""
    identity = ["-c", "user.name=test", "-c", "user.email=test@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", *identity, *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True).stdout.strip()


def repository(folder: Path) -> str:
    """Make the folder a repository with everything in it committed; its revision."""
    git(folder, "init", "--quiet")
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--message", "all")
    return git(folder, "rev-parse", "HEAD")


def test_the_hook_finds_what_the_command_finds(tmp_path: Path) -> None:
    """A committed file with a fault fails the hook with our line; an excluded one and a clean one do not."""
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
    repository(user)
    result = subprocess.run(
        [sys.executable, "-m", "pre_commit", "run", "--all-files"],
        cwd=user,
        capture_output=True,
        text=True,
        env={**os.environ, "PRE_COMMIT_HOME": str(tmp_path / "cache")},
        check=False,
    )
    assert result.returncode == 1, result.stdout + result.stderr
    assert "a.py:3:1: error: GRD101 leaf-inplace: `+=` writes in place to the leaf `w`" in result.stdout
    assert "b.py" not in result.stdout
