"""The real command in a process of its own: streams, start, and end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import gradlint
from gradlint.entrypoints.cli import main

SOURCE = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
LINE = "GRD101 `+=` writes in place to the leaf `w`, which requires grad: torch raises here"


def gradlint_command(*arguments: str, cwd: Path, stdin: bytes = b"", **environment: str) -> tuple[int, bytes, bytes]:
    """Exit code, standard output, standard error."""
    result = subprocess.run(
        [sys.executable, "-m", "gradlint", *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        env={**os.environ, "PYTHONPATH": str(Path(gradlint.__file__).parents[1]), **environment},
        timeout=120,
    )
    return result.returncode, result.stdout, result.stderr


def test_version(tmp_path: Path) -> None:
    """One line."""
    assert gradlint_command("--version", cwd=tmp_path) == (0, f"gradlint {gradlint.__version__}\n".encode(), b"")


def test_a_real_finding(tmp_path: Path) -> None:
    """From the real rules, through the real command; standard input and file alike."""
    (tmp_path / "a.py").write_text(SOURCE)
    code, out, _ = gradlint_command("check", cwd=tmp_path)
    assert (code, out.decode()) == (1, f"a.py:3:1: {LINE}\n")
    code, out, _ = gradlint_command("check", "-", cwd=tmp_path, stdin=SOURCE.encode())
    assert (code, out.decode()) == (1, f"-:3:1: {LINE}\n")


@pytest.mark.parametrize(
    "arguments", [["--foo"], ["chekc"], ["check", "--config", "no.toml"], ["check", "--select"], []]
)
def test_bad_usage(tmp_path: Path, arguments: list[str]) -> None:
    """Exit 2, and nothing on standard output."""
    code, out, err = gradlint_command(*arguments, cwd=tmp_path)
    assert (code, out) == (2, b"")
    assert err.startswith(b"gradlint: error: " if arguments else b"Usage: gradlint")


@pytest.mark.parametrize("arguments", [["check"], ["check", "--output-format", "json"], ["rule", "--all"]])
def test_standard_output_that_closes_early(tmp_path: Path, arguments: list[str]) -> None:
    """As under `| head -1`: no traceback, no complaint of Python's at exit."""
    (tmp_path / "a.py").write_text("import torch\n" + "w = torch.ones(3, requires_grad=True)\nw += 1\n" * 1_000)
    command = [sys.executable, "-m", "gradlint", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(Path(gradlint.__file__).parents[1])}
    with subprocess.Popen(
        command, cwd=tmp_path, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        err = process.stderr.read().decode()
        assert process.wait(timeout=120) in (0, 1)
    assert "Traceback" not in err
    assert "BrokenPipe" not in err


def test_a_terminal_that_knows_few_characters(tmp_path: Path) -> None:
    """Every finding is printed; what cannot be shown is written out."""
    (tmp_path / "a.py").write_text(SOURCE.replace("w", "\N{GREEK SMALL LETTER THETA}"), encoding="utf-8")
    code, out, _ = gradlint_command("check", cwd=tmp_path, PYTHONIOENCODING="cp1252")
    assert (code, out.decode()) == (1, f"a.py:3:1: {LINE}\n".replace("`w`", "`\\u03b8`"))


def test_a_name_that_is_no_text(tmp_path: Path) -> None:
    """File names are bytes, and need not be UTF-8."""
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/gr\xf6.py")).write_text(SOURCE)
    code, out, err = gradlint_command("check", cwd=tmp_path)
    assert (code, out, b"Traceback" in err) == (1, f"gr\\udcf6.py:3:1: {LINE}\n".encode(), False)


def test_rule_and_op(tmp_path: Path) -> None:
    """Both explain; both refuse what they do not know."""
    code, out, _ = gradlint_command("rule", "GRD101", cwd=tmp_path)
    assert (code, out.splitlines()[0]) == (0, b"# GRD101 leaf-inplace")
    assert gradlint_command("rule", "GRD999", cwd=tmp_path)[0] == 2
    code, out, _ = gradlint_command("op", "relu", cwd=tmp_path)
    assert (code, out.splitlines()[0].endswith(b"relu")) == (0, True)
    assert gradlint_command("op", "no_such_op", cwd=tmp_path)[0] == 2


def test_a_current_directory_that_is_gone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """One line."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert main(["check"]) == 2
    assert (
        capsys.readouterr().err == "gradlint: error: the current directory cannot be read: No such file or directory\n"
    )


def test_nothing_is_imported_from_the_current_directory(tmp_path: Path) -> None:
    """A file there that goes by the name of a library is checked, and not run."""
    for name in ("click", "libcst", "tomllib", "difflib"):
        (tmp_path / f"{name}.py").write_text("open('executed', 'w')\n")
    code, out, _ = gradlint_command("check", cwd=tmp_path)
    assert (code, out) == (0, b"")
    assert not (tmp_path / "executed").exists()
