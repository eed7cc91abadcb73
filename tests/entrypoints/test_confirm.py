"""`gradlint check --confirm` and `gradlint confirm`, as a user sees them."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path
from types import SimpleNamespace

import pytest
from click.testing import CliRunner, Result

from gradlint.confirm.prove import Prover
from gradlint.confirm.run import bubblewrap
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import Finding
from gradlint.entrypoints.cli import cli

LEAF = "import torch\n\nw = torch.ones(3, requires_grad=True)\nw += 1\nprint(w)\n"

SAVED = "import torch\n\nx = torch.ones(3, requires_grad=True)\ny = x.exp()\ny += 1\ny.sum().backward()\n"

needs_torch = pytest.mark.skipif(
    importlib.util.find_spec("torch") is None, reason="torch is not installed, and nothing else can be asked"
)


def run(*arguments: str) -> Result:
    """The command line, in this process."""
    return CliRunner().invoke(cli, list(arguments))


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A program with one mistake."""
    path = tmp_path / "leaf.py"
    path.write_text(LEAF, encoding="utf-8")
    return path


@needs_torch
def test_findings_show_their_verdict(file: Path) -> None:
    """In the concise format behind the message, with the repro below where it is asked for."""
    result = run("check", "--isolated", "--confirm", "--show-repro", str(file))
    assert result.exit_code == 1
    assert "GRD101" in result.output
    assert "(confirmed)" in result.output
    assert "    w += 1  # RuntimeError" in result.output


def test_a_mistake_of_our_own_loses_no_finding(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails while a finding is put before torch is told in one line, and the finding stands."""

    def fail(*_: object) -> None:
        raise ValueError("no such place")

    monkeypatch.setattr(Prover, "confirm", fail)
    result = CliRunner().invoke(cli, ["check", "--isolated", "--confirm", str(file)])
    assert result.exit_code == 2
    assert "GRD101" in result.output
    assert "(unconfirmed: ValueError: no such place" in result.output
    assert f"internal error in {file}: ValueError: no such place" in result.output


@needs_torch
def test_json_carries_the_confirmation(file: Path) -> None:
    """With torch's version and text, the time, and the repro."""
    result = run("check", "--isolated", "--only-confirmed", "-q", "--output-format", "json", str(file))
    (found,) = json.loads(result.stdout)
    asked = found["confirmation"]
    assert set(asked) == {"verdict", "reason", "error", "torch", "seconds", "repro"}
    assert asked["verdict"] == "confirmed"
    assert "leaf Variable that requires grad" in asked["error"]
    assert asked["repro"].startswith("import torch\n")


@needs_torch
def test_a_fix_is_made_if_torch_shows_that_it_heals(tmp_path: Path) -> None:
    """The first is confirmed before and runs behind the fix; the second takes too long to reach, and is left."""
    good, doubtful = tmp_path / "good.py", tmp_path / "doubtful.py"
    good.write_text(SAVED, encoding="utf-8")
    doubtful.write_text(SAVED.replace("x = ", "for _ in range(10**9):\n    pass\nx = "), encoding="utf-8")
    run("check", "--isolated", "--confirm", "--fix", "--unsafe-fixes", "-q", str(good), str(doubtful))
    assert "+=" not in good.read_text(encoding="utf-8")
    assert "y += 1" in doubtful.read_text(encoding="utf-8")


def test_without_the_option_nothing_is_asked(file: Path) -> None:
    """And JSON keeps its shape."""
    result = run("check", "--isolated", "-q", "--output-format", "json", str(file))
    (found,) = json.loads(result.stdout)
    assert "confirmation" not in found


@needs_torch
def test_one_place_is_confirmed(file: Path) -> None:
    """By file and line, or with the code as well."""
    for place in (f"{file}:4", f"{file}:4:GRD101"):
        result = run("confirm", place)
        assert result.exit_code == 1
        assert "confirmed: torch raised the error" in result.output
        assert "RuntimeError: a leaf Variable that requires grad" in result.output


@pytest.mark.parametrize("place", ["leaf.py", "{file}:1", "{file}:4:GRD204", "missing.py:3", "{file}:x"])
def test_a_place_without_a_finding_is_a_mistake_of_the_user(file: Path, place: str) -> None:
    """Told in one line, with exit code 2."""
    result = CliRunner().invoke(cli, ["confirm", place.format(file=file)])
    assert result.exit_code == 2
    said = f"{file}:1: nothing is found there; there are findings on line 4"
    assert (said in result.output) is place.endswith(":1")


MIXED = """\
import torch
from torch.autograd import Variable

v = Variable(torch.ones(3))
w = torch.ones(3, requires_grad=True)
w += v
"""


def test_what_is_not_reached_is_said_once(file: Path) -> None:
    """No time is enough for none: the findings stand without a verdict, and nothing is started."""
    result = run("check", "--isolated", "--confirm", "--confirm-seconds", "0", str(file))
    assert result.exit_code == 1
    assert "GRD101" in result.output and "confirmed" not in result.stdout
    assert result.output.count("1 of 1 findings were not reached within the 0 seconds of --confirm-seconds") == 1


@pytest.mark.parametrize("seconds", ["0.5", "1e9"])
def test_the_most_severe_come_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, seconds: str) -> None:
    """And what has been begun gets its verdict, however long it takes."""
    path, order = tmp_path / "mixed.py", []
    path.write_text(MIXED, encoding="utf-8")
    clock = iter(range(1000))

    def confirm(_: Prover, finding: Finding, *__: object) -> Confirmation:
        order.append(finding.severity)
        return Confirmation("confirmed", "shown")

    monkeypatch.setattr(Prover, "confirm", confirm)
    fake = SimpleNamespace(monotonic=lambda: float(next(clock)))
    monkeypatch.setattr("gradlint.entrypoints.proving.time", fake)
    result = run("check", "--isolated", "--confirm", "--confirm-seconds", seconds, str(path))
    assert order == (["error"] if seconds == "0.5" else ["error", "info"])
    assert result.output.count("(confirmed)") == len(order)
    assert ("not reached" in result.output) == (seconds == "0.5")


def test_a_fix_that_is_not_reached_is_not_made(tmp_path: Path) -> None:
    """Nothing has shown that it heals."""
    path = tmp_path / "saved.py"
    path.write_text(SAVED, encoding="utf-8")
    run("check", "--isolated", "--confirm", "--confirm-seconds", "0", "--fix", "--unsafe-fixes", "-q", str(path))
    assert path.read_text(encoding="utf-8") == SAVED


@pytest.mark.parametrize("arguments", [("check", "--isolated", "--confirm"), ("confirm",)])
def test_a_sandbox_that_is_not_there_is_a_mistake_of_the_user(
    file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: tuple[str, ...]
) -> None:
    """Not installed, and installed where it cannot work; by default it is left out there."""
    place = str(file) if arguments[0] == "check" else f"{file}:4"
    monkeypatch.setenv("PATH", os.fspath(tmp_path))
    said = run(*arguments, "--sandbox", "bwrap", place)
    assert (said.exit_code, said.stderr) == (2, "gradlint: error: --sandbox bwrap: bubblewrap is not installed\n")
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    broken.chmod(0o755)
    said = run(*arguments, "--sandbox", "bwrap", place)
    assert (said.exit_code, said.stderr) == (2, "gradlint: error: --sandbox bwrap: bubblewrap does not work here\n")
    assert bubblewrap.command("auto", "/") == bubblewrap.command("none", "/") == []


def test_a_bubblewrap_of_the_checked_directory_is_not_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A relative folder of the search path leads nowhere."""
    program = tmp_path / "bwrap"
    program.write_text("#!/bin/sh\ntouch started\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}")
    assert bubblewrap.command("auto", "/") == []
    assert not (tmp_path / "started").exists()


def test_without_a_wall_of_the_system_trust_is_needed(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS and Windows: one line says why, and nothing is executed."""
    monkeypatch.setattr("gradlint.entrypoints.proving.has_filter", lambda: False)
    monkeypatch.setattr("gradlint.entrypoints.proving.command", lambda around, home: [])
    monkeypatch.setattr(Prover, "confirm", lambda *_: Confirmation("confirmed", "shown"))
    said = run("check", "--isolated", "--confirm", str(file))
    assert said.exit_code == 2
    assert len(said.stderr.splitlines()) == 1 and "--trust" in said.stderr
    assert run("confirm", f"{file}:4").exit_code == 2
    assert "(confirmed)" in run("check", "--isolated", "--confirm", "--trust", str(file)).output
    monkeypatch.setattr("gradlint.entrypoints.proving.command", lambda around, home: ["bwrap"])
    assert "(confirmed)" in run("check", "--isolated", "--confirm", str(file)).output


def test_a_mistake_in_a_configuration_is_one_of_the_user(file: Path) -> None:
    """Told in one line, with its file."""
    configuration = file.parent / "gradlint.toml"
    configuration.write_text("select = 3\n", encoding="utf-8")
    result = run("confirm", f"{file}:4")
    assert result.exit_code == 2
    assert len(result.output.splitlines()) == 1 and str(configuration) in result.output
