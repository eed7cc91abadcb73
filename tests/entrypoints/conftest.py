"""The command line over the fake world."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

import gradlint.checker
import gradlint.entrypoints.adopting
import gradlint.entrypoints.check
import gradlint.entrypoints.rule
import gradlint.entrypoints.rules
import gradlint.entrypoints.running_options
import gradlint.examine
import gradlint.rules.registry
import gradlint.settings.words
from gradlint.entrypoints.cli import cli
from tests.entrypoints.fakes import FAKE_RULES, fake_interpret


@dataclass(frozen=True)
class Ran:
    """What a run of the command line left behind."""

    code: int
    out: list[str]
    err: list[str]


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def no_colour_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's terminal has no say in what tests read."""
    for name in ("NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def fake_world(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fake rules and interpreter, wherever the real ones are looked up."""
    commands = gradlint.entrypoints.check, gradlint.entrypoints.rule, gradlint.entrypoints.rules
    for module in (
        gradlint.checker,
        gradlint.settings.words,
        gradlint.rules.registry,
        gradlint.entrypoints.adopting,
        *commands,
    ):
        monkeypatch.setattr(module, "all_rules", lambda: FAKE_RULES)
    monkeypatch.setattr(gradlint.examine, "INTERPRET", fake_interpret)
    monkeypatch.setattr(gradlint.entrypoints.running_options, "processors", lambda: 1)  # Others know no fakes.


@pytest.fixture
def run(fake_world: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run `gradlint ARGUMENTS` in an empty directory."""
    monkeypatch.chdir(tmp_path)

    def run_it(*arguments: str, stdin: bytes | None = None) -> Ran:
        result = CliRunner().invoke(cli, list(arguments), input=stdin)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return Ran(result.exit_code, result.stdout.splitlines(), result.stderr.splitlines())

    return run_it


@pytest.fixture
def tree(tmp_path: Path) -> Callable[[Mapping[str, str | bytes]], Path]:
    """Write files below the current directory."""

    def write(files: Mapping[str, str | bytes]) -> Path:
        for name, content in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return tmp_path

    return write
