"""What may have been meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from gradlint.entrypoints.cli import main
from gradlint.settings.words import NO_RULE


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["train.py"], "`train.py` is no command; did you mean `gradlint check train.py`?"),
        (["src"], "`src` is no command; did you mean `gradlint check src`?"),
        (["chek"], "no such command `chek`; did you mean `gradlint check`?"),
        (["lint"], "no such command `lint`; did you mean `gradlint check`?"),
        (["frobnicate"], "no such command `frobnicate`"),
        (["--fix"], "no such option `--fix`; did you mean `gradlint check --fix`?"),
        (["check", "--format", "json"], "no such option `--format`; did you mean `--output-format`?"),
        (["check", "--report"], "no such option `--report`; did you mean `--output-format`?"),
        (["check", "--severity", "error"], "no such option `--severity`; did you mean `--min-severity`?"),
        (["check", "--error"], "no such option `--error`; did you mean `--min-severity error`?"),
        (["check", "--disable=GRD1"], "no such option `--disable`; did you mean `--ignore`?"),
        (["check", "--strict"], "no such option `--strict`; did you mean `--preset strict`?"),
        (["check", "--list-rules"], "no such option `--list-rules`; did you mean `gradlint rules`?"),
        (["check", "--fail-onn", "error"], "no such option `--fail-onn`; did you mean `--fail-on`?"),
        (["check", "--frobnicate"], "no such option `--frobnicate`"),
        (
            ["check", "--watch"],
            "gradlint has no `--watch` yet; `gradlint.recheck` in Python checks again after each change",
        ),
        (["rules", "--fix"], "no such option `--fix`"),
        (["op", "--severity"], "no such option `--severity`"),
    ],
)
def test_what_is_meant(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A word of another tool, a slip, a path without `check`; no guess where nothing is close."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith(f"gradlint: error: {message} (see `gradlint")


@pytest.mark.parametrize(
    ("word", "answer"),
    [
        ("GRD999", f"`GRD999` {NO_RULE}"),
        ("grd101", f"`grd101` {NO_RULE}; did you mean `GRD101`?"),
        ("GRD1001", f"`GRD1001` {NO_RULE}; did you mean `GRD101`?"),
        ("E501", "`E501` is not a code of gradlint: these begin with GRD"),
        ("leaf-inplac", f"`leaf-inplac` {NO_RULE}; did you mean `leaf-inplace`?"),
        ("nonsense", f"`nonsense` {NO_RULE}"),
    ],
)
def test_rules_that_are_meant(word: str, answer: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A code of the same hundred and one letter away, or a name that is spelled alike."""
    assert main(["rule", word]) == 2
    assert capsys.readouterr().err == f"gradlint: error: gradlint rule: {answer}\n"
