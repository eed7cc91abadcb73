"""`gradlint check`: paths, formats, exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import count
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradlint.domain.finding import Finding, Position, Span
from gradlint.entrypoints.cli import cli
from gradlint.report.address import page_address
from gradlint.report.fingerprint import fingerprints
from tests.entrypoints.conftest import Run
from tests.entrypoints.fakes import GROWS, MORE, RAISES

Tree = Callable[[Mapping[str, str | bytes]], Path]
ONE = "import torch\nfault_a\n"


def test_clean(run: Run, tree: Tree) -> None:
    """Nothing on standard output, exit 0."""
    tree({"a.py": "import torch\n", "b.py": "import os\n"})
    ran = run("check")
    assert (ran.code, ran.out) == (0, [])
    assert ran.err == ["No findings: 2 files checked, 1 of which is about torch."]


def test_findings_come_by_file_place_and_code(run: Run, tree: Tree) -> None:
    """One line each, exit 1; a file that does not mention torch is not looked at."""
    tree({"b.py": ONE, "a/z.py": "import torch\nx = fault_b, fault_a\n", "c.py": "fault_a\n"})
    ran = run("check")
    assert ran.code == 1
    assert ran.out == [
        f"a/z.py:2:5: {GROWS}",
        f"a/z.py:2:14: {RAISES}",
        f"b.py:2:1: {RAISES}",
    ]
    assert ran.err == [
        "3 findings (2 errors, 1 warning) in 2 files: 3 files checked, 2 of which are about torch.",
        MORE,
    ]


def test_names_are_as_typed(run: Run, tree: Tree) -> None:
    """A directory that was named heads the names below it; a file named twice is checked once."""
    root = tree({"src/b.py": ONE})
    assert run("check", "src").out == [f"src/b.py:2:1: {RAISES}"]
    assert run("check", "src/b.py", "src").out == [f"src/b.py:2:1: {RAISES}"]
    assert run("check", str(root / "src")).out == [f"{root}/src/b.py:2:1: {RAISES}"]


def test_full_draws_the_source(run: Run, tree: Tree) -> None:
    """The finding, what explains it, and what to write instead."""
    tree({"a.py": "import torch\nw = fault_c\n\n\nw + fault_a\n"})
    assert run("check", "--output-format", "full").out == [
        "error[GRD101] leaf-inplace: torch raises here",
        " --> a.py:5:5",
        "  |",
        "2 | w = fault_c",
        "  |     ------- the leaf is made here",
        "...",
        "5 | w + fault_a",
        "  |     ^^^^^^^",
        " = help: write it under no_grad",
        f" = see: {page_address('GRD101', 'leaf-inplace')} (`gradlint rule GRD101`)",
        "",
    ]


def test_json_is_for_programs(run: Run, tree: Tree) -> None:
    """Every key, every time; an empty list for a clean tree."""
    text = "import torch\nw = fault_c\nfault_a\n"
    tree({"a.py": text})
    span = Span(Position(3, 1), Position(3, 8))
    found = Finding("GRD101", "leaf-inplace", "", "error", "raises", "a.py", span, (3, 3))
    assert json.loads("\n".join(run("check", "--output-format", "json").out)) == [
        {
            "version": 1,
            "code": "GRD101",
            "name": "leaf-inplace",
            "message": "torch raises here",
            "hint": "write it under no_grad",
            "severity": "error",
            "effect": "raises",
            "filename": "a.py",
            "cell": None,
            "location": {"row": 3, "column": 1},
            "end_location": {"row": 3, "column": 8},
            "related": [
                {
                    "filename": "a.py",
                    "cell": None,
                    "location": {"row": 2, "column": 5},
                    "message": "the leaf is made here",
                }
            ],
            "assumptions": [],
            "url": page_address("GRD101", "leaf-inplace"),
            "fingerprint": fingerprints([found], {"a.py": text})[0],
            "fix": None,
        }
    ]
    tree({"a.py": "import torch\n"})
    assert run("check", "--output-format", "json").out == ["[]"]


def test_standard_input(run: Run, tree: Tree) -> None:
    """It goes by the name it is given, and by the configuration and patterns for that name."""
    tree({"sub/gradlint.toml": 'per-file-ignores = {"x.py" = ["GRD101"]}'})
    assert run("check", "-", stdin=ONE.encode()).out == [f"-:2:1: {RAISES}"]
    named = run("check", "-", "--stdin-filename", "y.py", stdin=ONE.encode())
    assert (named.code, named.out) == (1, [f"y.py:2:1: {RAISES}"])
    assert run("check", "-", "--stdin-filename", "sub/x.py", stdin=ONE.encode()).out == []
    assert run("check", "-", stdin=b"def f(:\n").out == ["-:1:7: error: GRD001 invalid-syntax: invalid syntax"]


def test_exit_codes_by_option(run: Run, tree: Tree) -> None:
    """`--exit-zero` forgives findings, not mistakes."""
    tree({"a.py": ONE})
    assert run("check", "--exit-zero").code == 0
    assert run("check", "--exit-zero", "missing").code == 2
    assert run("check", "--quiet").err == []


def test_a_missing_path_hides_no_finding(run: Run, tree: Tree) -> None:
    """It is told, the rest is checked, exit 2."""
    tree({"a.py": ONE})
    ran = run("check", "missing.py", "a.py")
    assert (ran.code, ran.out) == (2, [f"a.py:2:1: {RAISES}"])
    assert ran.err[0] == "gradlint: error: missing.py: no such file or directory"
    alone = run("check", "missing.py")
    assert (alone.code, alone.err) == (2, ["gradlint: error: missing.py: no such file or directory"])


def test_nothing_to_check(run: Run, tree: Tree) -> None:
    """A note, and exit 0."""
    tree({"a.txt": "torch"})
    ran = run("check")
    assert (ran.code, ran.out, ran.err) == (0, [], ["gradlint: no Python files found"])


def test_a_crash_is_ours_and_hides_no_finding(run: Run, tree: Tree) -> None:
    """One line with the file's name, the other files' findings, exit 2."""
    tree({"a.py": ONE, "b.py": "import torch\ncrash\n", "c.py": ONE})
    ran = run("check", "--exit-zero")
    assert ran.code == 2
    assert ran.out == [
        f"a.py:2:1: {RAISES}",
        f"c.py:2:1: {RAISES}",
    ]
    assert ran.err[0].startswith(
        "gradlint: internal error in b.py: RuntimeError: the fake interpreter broke (gradlint/"
    )
    assert len(ran.err) == 3
    assert "Traceback (most recent call last):" in run("check", "--traceback").err


def test_statistics(run: Run, tree: Tree) -> None:
    """Counts by rule, what comments silenced, and what was not followed."""
    tree({"a.py": "import torch\nfault_b\nfault_a\nfault_a\nfault_a  # noqa\ngiven_up\n"})
    assert run("check", "--statistics").err == [
        "     2  GRD101  leaf-inplace",
        "     1  GRD102  leaf-view-inplace",
        "     1  silenced by comments",
        "     1  not followed: a call too deep",
        "3 findings (2 errors, 1 warning) in 1 file: 1 file checked, 1 of which is about torch.",
        MORE,
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--select", "GRD9"], "--select: `GRD9` is not the code, the prefix of a code, or the name of a rule"),
        (["--ignore", "leaf-inplac"],
         "--ignore: `leaf-inplac` is not the code, the prefix of a code, or the name of a rule; "
         "did you mean `leaf-inplace`?"),
        (["--per-file-ignores", "GRD101"],
         "--per-file-ignores: `GRD101` is not of the form PATTERN:CODE"),
        (["--per-file-ignores", ":GRD1"], "--per-file-ignores: `:GRD1` is not of the form PATTERN:CODE"),
        (["--per-file-ignores", "a.py:"], "--per-file-ignores: `a.py:` is not of the form PATTERN:CODE"),
        (["--per-file-ignores", "tests/*"], "--per-file-ignores: `tests/*` is not of the form PATTERN:CODE"),
        (["--per-file-ignores", ""], "--per-file-ignores: `` is not of the form PATTERN:CODE"),
        (["--select", ""], "--select: the value is empty"),
        (["--select", "GRD1", "--select", ","], "--select: the value is empty"),
        (["--ignore", ", "], "--ignore: the value is empty"),
        (["--extend-include", ""], "--extend-include: the value is empty"),
        (["--config", ""], "--config: `` names no file and sets no key"),
        (["--config", "."], ".: cannot be read: this is a directory, not a file"),
        (["--baseline", ""], "--baseline must be a string that is not empty"),
        (["--write-baseline", ""], "--write-baseline: . is a directory"),
        (["--write-baseline", "no/base.json"], "--write-baseline: there is no directory no"),
        (["--python", ""], "--python must be a string that is not empty"),
        (["--python", "no"], "--python: no: no such file or directory"),
        *(
            (["--torch", text],
             '--torch must be a release of torch from 2.0 to 2.14, written as a string such as "2.4"')
            for text in ("", "two", "1.8", "2", "9.9", "2.5.0a0")
        ),
        (["--stdin-filename", "a.py"],
         "--stdin-filename names standard input, which is read only with `-` as the path"),
        (["-", "--stdin-filename", ""], "--stdin-filename: the value is empty"),
        (["--per-file-ignores", "a.py:X"],
         "--per-file-ignores: `X` is not the code, the prefix of a code, or the name of a rule"),
        (["--isolated", "--config", "gradlint.toml"], "--config FILE and --isolated exclude each other"),
        (["-", "a.py"], "`-` cannot be combined with paths: name either standard input or files"),
    ],
)  # fmt: skip
def test_bad_usage_is_one_line(run: Run, tree: Tree, arguments: list[str], message: str) -> None:
    """Exit 2, nothing on standard output."""
    tree({"a.py": ONE, "gradlint.toml": ""})
    ran = run("check", *arguments, stdin=b"")
    assert (ran.code, ran.out, ran.err[0].partition("; did you mean `GRD")[0]) == (
        2,
        [],
        f"gradlint: error: {message}",
    )
    assert len(ran.err) == 1


@pytest.mark.parametrize("option", ["--file-seconds", "--confirm-seconds"])
@pytest.mark.parametrize("seconds", ["nan", "inf", "-1"])
def test_seconds_are_a_number(run: Run, option: str, seconds: str) -> None:
    """That is not negative, and has an end."""
    ran = run("check", option, seconds)
    assert (ran.code, ran.out) == (2, [])
    assert f"Invalid value for '{option}': {float(seconds)} is not " in ran.err[-1]


def test_a_file_that_takes_too_long_is_given_up(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line, exit code 2; others show what they show without it. Each look at the clock counts as a second here."""
    looks = count()
    for clock in ("_now", "_wall"):
        monkeypatch.setattr(f"gradlint.domain.clock.{clock}", lambda: float(next(looks)))
    fault = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
    root = tree({"a.py": fault, "long.py": fault + "x = torch.ones(3) + 1\n" * 100, "z.py": fault})
    monkeypatch.chdir(root)
    result = CliRunner().invoke(cli, ["check", "--file-seconds", "20"])
    assert result.exit_code == 2
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == ["a.py", "z.py"]
    assert result.stderr.splitlines()[0] == (
        "gradlint: error: long.py: given up after 20 s of processor time; `--file-seconds` gives a file more"
    )
    unlimited = CliRunner().invoke(cli, ["check", "--file-seconds", "0"])
    assert unlimited.exit_code == 1
    assert [line.partition(":")[0] for line in unlimited.stdout.splitlines()] == ["a.py", "long.py", "z.py"]
