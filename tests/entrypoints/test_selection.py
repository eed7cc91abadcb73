"""Which rules judge which file: options, configuration, comments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.entrypoints.conftest import Run

Tree = Callable[[Mapping[str, str | bytes]], Path]
BOTH = "import torch\nfault_a\nfault_b\n"


def codes(run: Run, *arguments: str) -> list[str]:
    """The codes of the findings, in order."""
    return [line.split()[2] for line in run("check", *arguments).out]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ([], ["GRD101", "GRD102"]),
        (["--select", "GRD101"], ["GRD101"]),
        (["--select", "leaf-inplace"], ["GRD101"]),
        (["--select", "GRD101,GRD801"], ["GRD101", "GRD801", "GRD801"]),
        (["--select", "GRD8"], ["GRD801", "GRD801"]),
        (["--select", "ALL", "--ignore", "GRD1"], ["GRD801", "GRD801"]),
        (["--ignore", "GRD101"], ["GRD102"]),
        (["--ignore", "GRD1"], []),
        (["--ignore", "GRD1", "--select", "GRD101"], ["GRD101"]),
        (["--ignore", "GRD1", "--extend-select", "GRD102"], ["GRD102"]),
        (["--ignore", "GRD101 GRD102"], []),
        (["--extend-select", "GRD8"], ["GRD101", "GRD801", "GRD102", "GRD801"]),
        (["--per-file-ignores", "a.py:GRD101"], ["GRD102"]),
        (["--per-file-ignores", "b.py:GRD101"], ["GRD101", "GRD102"]),
        (["--per-file-ignores", "*.py:GRD101,GRD102"], []),
        (["--per-file-ignores", "b.py:GRD1,a.py:GRD102"], ["GRD101"]),
    ],
)
def test_options(run: Run, tree: Tree, arguments: list[str], expected: list[str]) -> None:
    """The longer prefix wins; names serve as well as codes; what is off by default is on when selected."""
    tree({"a.py": BOTH})
    assert codes(run, *arguments) == expected


@pytest.mark.parametrize(
    ("config", "arguments", "expected"),
    [
        ('select = ["GRD102"]', [], ["GRD102"]),
        ('ignore = ["GRD102"]', [], ["GRD101"]),
        ('extend-select = ["GRD801"]', [], ["GRD101", "GRD801", "GRD102", "GRD801"]),
        ('select = ["GRD102"]', ["--select", "GRD101"], ["GRD101"]),
        ('select = ["GRD102"]', ["--extend-select", "GRD101"], ["GRD101", "GRD102"]),
        ('ignore = ["GRD102"]', ["--ignore", "GRD101"], []),
        ('ignore = ["GRD102"]', ["--isolated"], ["GRD101", "GRD102"]),
        ('ignore = ["GRD102"]', ["--config", "other.toml"], ["GRD102"]),
        ('per-file-ignores = {"a.*" = ["GRD1"]}', [], []),
    ],
)
def test_configuration(run: Run, tree: Tree, config: str, arguments: list[str], expected: list[str]) -> None:
    """The command line goes on top; the same keys serve in both files."""
    tree({"a.py": BOTH, "other.toml": 'ignore = ["GRD101"]', "gradlint.toml": config})
    assert codes(run, *arguments) == expected
    Path("gradlint.toml").unlink()
    tree({"pyproject.toml": f"[tool.gradlint]\n{config}\n"})
    assert codes(run, *arguments) == expected


def test_the_nearest_configuration_holds(run: Run, tree: Tree) -> None:
    """For each file its own; a `pyproject.toml` without our table is none, `gradlint.toml` goes first."""
    tree(
        {
            "pyproject.toml": '[tool.gradlint]\nselect = ["GRD101"]\n',
            "a.py": BOTH,
            "plain/pyproject.toml": "[project]\nname = 'plain'\n",
            "plain/a.py": BOTH,
            "own/pyproject.toml": '[tool.gradlint]\nselect = ["GRD801"]\n',
            "own/gradlint.toml": 'select = ["GRD102"]',
            "own/deep/a.py": BOTH,
        }
    )
    assert [line.split(":")[0] + line.split()[2] for line in run("check").out] == [
        "a.pyGRD101",
        "own/deep/a.pyGRD102",
        "plain/a.pyGRD101",
    ]


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("selekt = []", "unknown key `selekt`; did you mean `select`?"),
        ('select = ["GRD999"]', "`select`: `GRD999` is not the code, the prefix of a code, or the name of a rule"),
        ('select = "GRD1"', "`select` must be a list of strings"),
        ("select = [1]", "`select` must be a list of strings, and holds 1"),
        ('per-file-ignores = ["a"]', "`per-file-ignores` must be a table from patterns to lists of codes"),
        ('per-file-ignores = {"a" = "GRD1"}', "`per-file-ignores.a` must be a list of strings"),
        ('output-format = "xml"', "`output-format` must be one of concise, full, grouped, json, "),
        ('respect-gitignore = "no"', "`respect-gitignore` must be true or false"),
        ("select = [", "not valid TOML: "),
    ],
)
def test_a_mistake_in_the_configuration_is_one_line(run: Run, tree: Tree, config: str, message: str) -> None:
    """It names the file, and nothing is checked."""
    root = tree({"a.py": BOTH, "gradlint.toml": config})
    ran = run("check")
    assert (ran.code, ran.out, len(ran.err)) == (2, [], 1)
    assert ran.err[0].startswith(f"gradlint: error: {root}/gradlint.toml: {message}")
    tree({"gradlint.toml": "", "sub/pyproject.toml": "[tool\n", "sub/b.py": BOTH})
    ran = run("check", "a.py", "sub")
    assert (ran.code, ran.out, len(ran.err)) == (2, [], 1)
    assert ran.err[0].startswith(f"gradlint: error: {root}/sub/pyproject.toml:1:6: not valid TOML: ")


def test_unreadable_files_stay_reported_under_select(run: Run, tree: Tree) -> None:
    """Silence must not look like praise; only `--ignore` switches them off."""
    tree({"a.py": "import torch\ndef f(:\n"})
    assert codes(run, "--select", "GRD101") == ["GRD001"]
    assert codes(run, "--ignore", "GRD001") == []
    assert codes(run, "--ignore", "GRD0") == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("fault_a  # noqa", []),
        ("fault_a  # NOQA", []),
        ("fault_a  #noqa", []),
        ("fault_a  # noqa: GRD101", []),
        ("fault_a  # noqa:E501,GRD1", []),
        ("fault_a  # noqa: E501", ["GRD101"]),
        ("fault_a  # type: ignore  # noqa: GRD101", []),
        ("x = (\n    fault_a,\n)  # noqa", []),
        ("x = (  # noqa\n    1,\n    fault_a,\n)", []),
        ("x = '''\n# noqa\n''', fault_a", ["GRD101"]),
        ("x = 1, \\\n  fault_a  # noqa", []),
        ("# noqa\nfault_a", ["GRD101"]),
        ("def f():  # noqa\n    fault_a", ["GRD101"]),
        ("def f(\n    x=fault_a,\n):  # noqa\n    pass", []),
        ("if fault_a:  # noqa\n    pass", []),
        ("if fault_a:\n    pass  # noqa", ["GRD101"]),
        ("if 1: fault_a  # noqa", []),
        ("match fault_a:  # noqa\n    case 1: pass", []),
        ("@d(\n  fault_a)  # noqa\ndef f(): pass", []),
        ("@d(fault_a)\ndef f(): pass  # noqa", ["GRD101"]),
        ("# gradlint: noqa\nfault_a", []),
        ("fault_a\n    # gradlint: noqa", []),
        ("# gradlint: noqa: GRD102\nfault_a", ["GRD101"]),
        ("# gradlint: noqa: GRD102, GRD1\nfault_a", []),
        ("x = 1  # gradlint: noqa\nfault_a", ["GRD101"]),
    ],
)
def test_comments(run: Run, tree: Tree, line: str, expected: list[str]) -> None:
    """A comment counts in every row of its statement, of a compound one in the header; codes are prefixes."""
    tree({"a.py": f"import torch\n{line}\n"})
    assert codes(run) == expected
    assert codes(run, "--ignore-noqa") == ["GRD101"]
