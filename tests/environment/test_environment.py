"""Where an environment is looked for, what is said of one that cannot be read, and what is kept of it."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradlint.entrypoints.cli import cli
from gradlint.settings.environment import environment_of
from gradlint.source.environment.index import Index, Unread, index_of
from gradlint.source.environment.place import site_packages

PROGRAM = """\
import torch
from losslib import contrast
from torch import nn

model = nn.Linear(8, 4)
loss = contrast(model(torch.randn(2, 8)), torch.randn(2, 4))
loss.backward()
w = torch.ones(3, requires_grad=True)
w += 1
"""
OWN = "a.py:9:1: GRD101"
FROM_PACKAGE = "a.py:6:8: GRD309"
CUT = "import torch\n\n\ndef contrast(prediction, target):\n    return (prediction - target).sum().detach()\n"

Lint = Callable[..., tuple[int, list[str], list[str]]]


def install(prefix: Path, text: str | bytes = CUT, version: str = "3.11") -> Path:
    """Make an environment with one package; return the file of that."""
    site = prefix / "lib" / f"python{version}" / "site-packages"
    site.mkdir(parents=True)
    (prefix / "pyvenv.cfg").write_text(f"home = /usr/bin\nversion = {version}.1\n")
    file = site / "losslib.py"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


@pytest.fixture
def lint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Lint:
    """Run `gradlint check ARGUMENTS` in a project: the exit code, the places and codes found, and the warnings."""
    project = tmp_path / "project"
    project.mkdir()
    (project / "a.py").write_text(PROGRAM)
    monkeypatch.chdir(project)
    for name in ("VIRTUAL_ENV", "CONDA_PREFIX"):
        monkeypatch.delenv(name, raising=False)

    def run(*arguments: str) -> tuple[int, list[str], list[str]]:
        result = CliRunner().invoke(cli, ["check", "-q", *arguments])
        assert result.exception is None or isinstance(result.exception, SystemExit)
        found = [" ".join(line.split()[:3:2]) for line in result.stdout.splitlines()]
        return result.exit_code, found, result.stderr.splitlines()

    return run


BOTH: tuple[int, list[str], list[str]] = (1, [FROM_PACKAGE, OWN], [])
WITHOUT: tuple[int, list[str], list[str]] = (1, [OWN], [])


def test_it_is_named_on_the_command_line(lint: Lint, tmp_path: Path) -> None:
    """A directory, or an interpreter in it, which is not run; also where nothing else is configured."""
    install(tmp_path / "env")
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/false\n")
    assert lint() == WITHOUT
    assert lint("--python", "../env") == BOTH
    assert lint("--python", str(python)) == BOTH
    assert lint("--isolated", "--python", "../env") == BOTH


def test_it_is_named_in_the_configuration(lint: Lint, tmp_path: Path) -> None:
    """From the directory of the file; the command line goes on top."""
    install(tmp_path / "env")
    Path("gradlint.toml").write_text('python = "../env"\n')
    assert lint() == BOTH
    assert lint("--no-environment") == WITHOUT
    assert lint("--isolated") == WITHOUT
    Path("gradlint.toml").write_text("python = 3\n")
    code, found, said = lint()
    assert (code, found) == (2, [])
    assert said[-1].endswith("`python` must be a string that is not empty")


@pytest.mark.parametrize("name", [".venv", "venv"])
def test_it_lies_beside_the_configuration(lint: Lint, name: str) -> None:
    """Or in the current directory, where nothing is configured."""
    install(Path(name))
    assert lint() == BOTH
    assert lint("--isolated") == WITHOUT


@pytest.mark.parametrize("variable", ["VIRTUAL_ENV", "CONDA_PREFIX"])
def test_it_is_the_active_one(lint: Lint, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    """Unless one lies beside the configuration."""
    install(tmp_path / "env")
    monkeypatch.setenv(variable, str(tmp_path / "env"))
    assert lint() == BOTH
    install(Path(".venv"), CUT.replace(".detach()", ""))
    assert lint() == WITHOUT
    assert environment_of(Path.cwd()) == Path.cwd() / ".venv"


def test_two_options_that_contradict(lint: Lint) -> None:
    """Bad usage."""
    code, found, said = lint("--python", "x", "--no-environment")
    assert (code, found) == (2, [])
    assert said[-1].endswith("--python and --no-environment exclude each other")


def test_an_environment_that_is_missing_or_broken(lint: Lint, tmp_path: Path) -> None:
    """One line each; the exit code is that of the findings."""
    install(tmp_path / "old", version="2.7")
    (tmp_path / "empty").mkdir()
    for name, why in [
        ("empty", "no folder `site-packages` is found there"),
        ("old", "it is one of Python 2, and gradlint reads Python 3"),
    ]:
        line = f"gradlint: warning: the Python environment {tmp_path / name} is not read: {why}"
        assert lint("--python", str(tmp_path / name)) == (1, [OWN], [line])
        assert lint("--exit-zero", "--python", str(tmp_path / name)) == (0, [OWN], [line])
    code, found, said = lint("--python", str(tmp_path / "none"))
    assert (code, found) == (2, [])
    assert said[-1].endswith(f"--python: {tmp_path / 'none'}: no such file or directory")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("import torch\nprint 'losses'\n", "line 2: this is Python 2"),
        ("import torch\ndef contrast(:\n", "line 2: invalid syntax"),
        (b"import torch\nname = '\xff'\n", "byte 0xff is not UTF-8, and no coding line names another encoding"),
        ("import torch\n" + "x = 1\n" * 400_000, "the file has more than 2,000,000 bytes"),
        ("import torch\0\n", "it contains a NUL byte"),
    ],
)
def test_a_package_that_cannot_be_read(lint: Lint, tmp_path: Path, text: str | bytes, why: str) -> None:
    """One line, in each run; the check goes on without it."""
    file = install(tmp_path / "env", text)
    said = f"gradlint: warning: the package losslib of the Python environment is not read: {file}: {why}"
    for _ in range(2):
        assert lint("--python", "../env") == (1, [OWN], [said])


def test_a_definition_of_many_lines_is_not_read(lint: Lint, tmp_path: Path) -> None:
    """Silently: the call counts as unknown."""
    install(tmp_path / "env", CUT.replace("    return", "    prediction = prediction + 1\n" * 1_000 + "    return"))
    assert lint("--python", "../env") == WITHOUT


def test_nothing_is_executed(lint: Lint, tmp_path: Path) -> None:
    """Neither the package nor its interpreter."""
    install(tmp_path / "env", f"import torch\nopen({str(tmp_path / 'ran')!r}, 'w')\n" + CUT)
    assert lint("--python", "../env") == BOTH
    assert not (tmp_path / "ran").exists()


def test_the_cache_is_kept_and_nobody_minds_its_state(lint: Lint, tmp_path: Path) -> None:
    """What is broken in it is written again; a file that has changed is read again; it hides itself from git."""
    file = install(tmp_path / "env")
    assert lint("--python", "../env") == BOTH
    (kept,) = Path(".gradlint_cache").glob("*/losslib.json")
    assert Path(".gradlint_cache/.gitignore").read_text() == "*\n"
    good = kept.read_text()
    for broken in ("", "[]", good[:20], good.replace("[[", "[[null,"), good.replace("}", "")):
        kept.write_text(broken)
        shutil.rmtree(".gradlint_cache/results")
        assert lint("--python", "../env") == BOTH
        assert kept.read_text() == good
    file.write_text(CUT.replace(".detach()", ""))
    assert lint("--python", "../env") == WITHOUT


def test_a_cache_that_cannot_be_written(lint: Lint, tmp_path: Path) -> None:
    """A file stands in its place."""
    install(tmp_path / "env")
    Path(".gradlint_cache").write_text("")
    assert lint("--python", "../env") == BOTH


def test_a_file_of_the_project_goes_before_a_package(lint: Lint, tmp_path: Path) -> None:
    """As in Python."""
    install(tmp_path / "env")
    Path("losslib.py").write_text(CUT.replace(".detach()", ""))
    assert lint("--python", "../env") == WITHOUT


def test_where_packages_are(tmp_path: Path) -> None:
    """The version that `pyvenv.cfg` states, or else the newest; the system's packages where it says so."""
    for version in ("3.9", "3.11"):
        (tmp_path / "lib" / f"python{version}" / "site-packages").mkdir(parents=True)
    lib = tmp_path / "lib"
    assert site_packages(tmp_path) == (str(lib / "python3.11" / "site-packages"),)
    (tmp_path / "pyvenv.cfg").write_text("version_info = 3.9.2\n")
    assert site_packages(tmp_path) == (str(lib / "python3.9" / "site-packages"),)
    venv = tmp_path / "venv"
    (venv / "lib" / "python3.9" / "site-packages").mkdir(parents=True)
    (venv / "pyvenv.cfg").write_text(
        f"home = {tmp_path / 'bin'}\ninclude-system-site-packages = true\nversion = 3.9.2\n"
    )
    own, system = venv / "lib" / "python3.9" / "site-packages", lib / "python3.9" / "site-packages"
    assert site_packages(venv) == (str(own), str(system))
    windows = tmp_path / "windows"
    (windows / "Lib" / "site-packages").mkdir(parents=True)
    assert site_packages(windows) == (str(windows / "Lib" / "site-packages"),)


def test_folders_that_are_linked_to(lint: Lint, tmp_path: Path) -> None:
    """A `.pth` file, and the module that setuptools writes for an editable install: both are read, neither is run."""
    site = install(tmp_path / "env").parent
    (site / "losslib.py").unlink()
    source = tmp_path / "sources" / "losslib"
    source.mkdir(parents=True)
    (source / "__init__.py").write_text(CUT)
    assert lint("--python", "../env") == WITHOUT
    made = tmp_path / "run"
    code = f"import sys; open({str(made)!r}, 'w')\n"
    (site / "linked.pth").write_text(f"# a comment\n{code}\n../../../../sources\n/missing\n")
    assert lint("--python", "../env") == BOTH
    (site / "linked.pth").write_text("import __editable___losslib_finder; __editable___losslib_finder.install()\n")
    finder = site / "__editable___losslib_finder.py"
    finder.write_text(f"{code}MAPPING: dict[str, str] = {{'losslib': {str(source)!r}}}\nNAMESPACES = {{}}\n")
    assert lint("--python", "../env") == BOTH
    finder.write_text("MAPPING = {'losslib': __import__('os').sep}\n")
    assert lint("--python", "../env") == WITHOUT
    assert not made.exists()


def test_which_statements_bind_a_name() -> None:
    """The last that certainly does, with those after it that may, or that change the value."""
    text = """\
import os
try:
    import fast
except ImportError:
    fast = None
x = 1
x = {}
x["a"] = 1
def f():
    global state
@os.deco
def f(): pass
if fast:
    f = fast.f
from .a import *
from ..b import c as d
state = None
"""
    assert index_of(text) == Index(
        {"os": [[1, 1]], "fast": [[2, 5]], "x": [[7, 7], [8, 8]], "f": [[11, 12], [13, 14]], "d": [[16, 16]]}, [".a"]
    )
    assert index_of("x = (\n") == Unread("line 1: '(' was never closed")
