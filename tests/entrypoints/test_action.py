"""The GitHub Action: what its steps do, run by the shell that GitHub runs them with."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml  # type: ignore[import-untyped]

import gradlint

ROOT = Path(gradlint.__file__).parents[1]
SHELL = ("bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c")
SPEAKING = '#!/bin/sh\nprintf "%s" "$(basename "$0")"; printf " [%s]" "$@"; echo\n'


@pytest.fixture(scope="module")
def action() -> dict[str, Any]:
    """The file, parsed."""
    return yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))  # type: ignore[no-any-return]


def steps(action: dict[str, Any], folder: Path, **given: str) -> list[str]:
    """What the shell steps print, where `python` and `gradlint` say how they are called."""
    inputs = {name: one["default"] for name, one in action["inputs"].items()} | given
    for name in ("python", "gradlint"):
        (folder / name).write_text(SPEAKING)
        (folder / name).chmod(0o755)
    printed = []
    for step in action["runs"]["steps"]:
        if "run" in step:
            assert "${{" not in step["run"], "an input in a script would be a way to run commands"
            environment = {name: _filled(text, inputs) for name, text in step["env"].items()}
            path = os.pathsep.join((str(folder), os.environ["PATH"]))
            done = subprocess.run(
                [*SHELL, step["run"]],
                env={**os.environ, **environment, "PATH": path},
                capture_output=True,
                text=True,
                check=True,
            )
            printed.append(done.stdout.strip())
    return printed


def _filled(text: str, inputs: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], text)


def test_it_installs_and_checks(action: dict[str, Any], tmp_path: Path) -> None:
    """Without inputs: the newest version, and the whole working directory."""
    install, check = steps(action, tmp_path)
    assert install == "python [-m] [pip] [install] [--quiet] [--disable-pip-version-check] [torch-gradlint]"
    assert check == "gradlint [check] [--output-format] [github]"
    assert action["runs"]["using"] == "composite"
    assert action["runs"]["steps"][-1]["working-directory"] == "${{ inputs.working-directory }}"


def test_inputs_are_arguments_and_no_commands(action: dict[str, Any], tmp_path: Path) -> None:
    """A version, and several arguments; nothing in them is expanded or run."""
    install, check = steps(action, tmp_path, version="0.1.0", args="--min-severity warning src $(id) *")
    assert install.endswith("[torch-gradlint==0.1.0]")
    assert check.endswith("[github] [--min-severity] [warning] [src] [$(id)] [*]")
