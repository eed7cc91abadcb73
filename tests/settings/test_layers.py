"""Where values come from, and which one holds."""

from __future__ import annotations

import pytest

from gradlint.settings.config import ConfigError
from gradlint.settings.file import load
from gradlint.settings.keys import KEYS
from tests.entrypoints.conftest import Run
from tests.settings.conftest import Tree, codes

BOTH = "import torch\nfault_a\nfault_b\n"


@pytest.mark.parametrize(
    ("base", "own", "arguments", "expected"),
    [
        ('select = ["GRD102"]', "", [], ["GRD102"]),
        ('select = ["GRD102"]', 'select = ["GRD101"]', [], ["GRD101"]),
        ('ignore = ["GRD102"]', 'ignore = ["GRD101"]', [], []),
        ('ignore = ["GRD102"]', "", ["--config", 'ignore = ["GRD101"]'], []),
        ('ignore = ["GRD102"]', "", ["--config", "select = ['GRD1']", "--ignore", "GRD101"], ["GRD102"]),
        ("min-severity = 'error'", "", [], ["GRD101"]),
        ("min-severity = 'error'", "", ["--config", "min-severity = 'info'"], ["GRD101", "GRD102"]),
        ("", "", ["--config", "min-severity = 'info'", "--min-severity", "error"], ["GRD101"]),
        ("severity = {GRD1 = 'info'}", "min-severity = 'warning'", [], []),
        ("severity = {GRD1 = 'info'}", "severity = {GRD1 = 'error'}\nmin-severity = 'error'", [], ["GRD101", "GRD102"]),
        ("per-file-ignores = {'sub/*' = ['GRD101']}", "", [], ["GRD102"]),
        ("exclude = ['sub/a.py']", "", [], []),
        ("exclude = ['sub/a.py']", "exclude = []", [], ["GRD101", "GRD102"]),
        ("extend-exclude = ['sub/a.py']", "exclude = []", [], []),
        ("exclude = ['sub']", "", ["--exclude", "other"], ["GRD101", "GRD102"]),
        ("extend-exclude = ['sub']", "", ["--exclude", "other"], []),
        ("", "", ["--exclude", "other,sub"], []),
        ("", "", ["--exclude", "a.py"], []),
        ("preset = 'strict'", "preset = 'default'", ["--exit-zero"], ["GRD101", "GRD102"]),
        ("preset = 'strict'", "ignore = ['GRD801']", ["--isolated"], ["GRD101", "GRD102"]),
    ],
)
def test_layers(run: Run, tree: Tree, base: str, own: str, arguments: list[str], expected: list[str]) -> None:
    """An extended file, the file, TOML on the command line, options; patterns begin at the file that was found."""
    tree({"base.toml": base, "project/gradlint.toml": f'extend = "../base.toml"\n{own}', "project/sub/a.py": BOTH})
    assert codes(run("check", "project", *arguments)) == expected


def test_a_preset_is_below_the_layer_that_names_it(run: Run, tree: Tree) -> None:
    """Also on the command line, which is above files."""
    tree({"a.py": "import torch\nfault_i\n", "gradlint.toml": "preset = 'strict'\nfail-on = 'warning'\n"})
    assert run("check").code == 0
    assert run("check", "--preset", "strict").code == 1
    assert run("check", "--preset", "strict", "--fail-on", "error").code == 0
    assert run("check", "--preset", "education").out[0].startswith("info[GRD103] leaf-copied: ")


@pytest.mark.parametrize(
    ("files", "arguments", "message"),
    [
        ({"gradlint.toml": "extend = 'no.toml'"}, [], "{root}/gradlint.toml: `extend`: {root}/no.toml: no such file"),
        (
            {"gradlint.toml": "extend = 'b.toml'", "b.toml": "extend = './gradlint.toml'"},
            [],
            "{root}/b.toml: `extend` goes in a circle: {root}/gradlint.toml -> {root}/b.toml -> {root}/gradlint.toml",
        ),
        ({"gradlint.toml": "extend = 'b.toml'", "b.toml": "fix = 1"}, [], "{root}/b.toml: `fix` must be true or false"),
        ({"gradlint.toml": "a = 1\nb = = 2"}, [], "{root}/gradlint.toml:2:5: not valid TOML: Invalid value"),
        (
            {"gradlint.toml": "fail-on = 'off'"},
            [],
            "{root}/gradlint.toml: `fail-on` must be one of error, warning, info, never",
        ),
        (
            {"gradlint.toml": "severity = {GRD101 = 'off'}"},
            [],
            "{root}/gradlint.toml: `severity.GRD101` must be one of error, warning, info; `ignore` switches a rule off",
        ),
        (
            {"gradlint.toml": "severity = {E501 = 'info'}"},
            [],
            "{root}/gradlint.toml: `severity`: `E501` is not a code of gradlint: these begin with GRD",
        ),
        (
            {"gradlint.toml": "[tool.gradlint]\nignore = ['GRD1']"},
            [],
            "{root}/gradlint.toml: the keys stand at the top level of this file, and not in `[tool.gradlint]`",
        ),
        ({"gradlint.toml": "ignore = ['']"}, [], "{root}/gradlint.toml: `ignore` holds an empty string"),
        ({"gradlint.toml": "exclude = [' ']"}, [], "{root}/gradlint.toml: `exclude` holds an empty string"),
        ({"gradlint.toml": "baseline = ''"}, [], "{root}/gradlint.toml: `baseline` must be a string that is not empty"),
        (
            {"gradlint.toml": "severity = {'' = 'info'}"},
            [],
            "{root}/gradlint.toml: `severity` has an entry without a code",
        ),
        (
            {"gradlint.toml": "per-file-ignores = {'' = ['GRD1']}"},
            [],
            "{root}/gradlint.toml: `per-file-ignores` has an entry without a pattern",
        ),
        ({}, ["--config", "fail-onn = 'error'"], "--config: unknown key `fail-onn`; did you mean `fail-on`?"),
        ({}, ["--config", "no.toml"], "no.toml: cannot be read: No such file or directory"),
        ({}, ["--config", "extend = 'a.toml'"], "--config: `extend` belongs into a file; name one with --config FILE"),
        (
            {},
            ["--config", "fail-on"],
            "--config: `fail-on` is neither a file nor TOML such as 'key = \"value\"': Expected '=' after a key in a "
            "key/value pair (at end of document)",
        ),
        (
            {"a.toml": "", "b.toml": ""},
            ["--config", "a.toml", "--config", "b.toml"],
            "--config: name one file; what it shares with others it can `extend`",
        ),
    ],
)
def test_mistakes_are_one_line(run: Run, tree: Tree, files: dict[str, str], arguments: list[str], message: str) -> None:
    """With the file, and the row and column where TOML knows them."""
    root = tree({"a.py": BOTH, **files})
    ran = run("check", *arguments)
    assert (ran.code, ran.out, ran.err) == (2, [], [f"gradlint: error: {message.format(root=root)}"])


def test_settings_are_shown_with_their_origins(run: Run, tree: Tree) -> None:
    """A line for each value, or for each part of what adds up."""
    root = tree(
        {
            "base.toml": 'preset = "strict"\nignore = ["GRD102"]',
            "p/gradlint.toml": 'extend = "../base.toml"\nmin-severity = "error"\nfix = true',
            "p/a.py": BOTH,
        }
    )
    lines = run("check", "p/a.py", "--show-settings", "--no-environment", "--ignore", "GRD101").out
    assert lines[0] == f"# What holds for the files in {root}/p; paths and patterns begin in {root}/p."
    assert set(lines) >= {
        f'preset = "strict"  # {root}/base.toml',
        f'ignore = ["GRD102"]  # {root}/base.toml',
        'ignore = ["GRD101"]  # command line',
        f'min-severity = "error"  # {root}/p/gradlint.toml',
        f'fail-on = "info"  # preset `strict` of {root}/base.toml',
        "extend-exclude = []  # default",
        f"fix = false  # {root}/p/gradlint.toml says true, which counts only with `--config FILE` or `--fix`",
        "# python is not set",
    }
    said = {line.removeprefix("# ").split()[0] for line in lines[1:]}
    assert said == {key.name for key in KEYS if key.name != "extend"}


def test_paths_of_the_command_line_are_shown_with_their_origin(run: Run, tree: Tree) -> None:
    """Also where the configuration says something else, or would find something else."""
    root = tree({"gradlint.toml": "baseline = 'a.json'\npython = 'env'", "mine/x": "", ".venv/pyvenv.cfg": ""})
    shown = run("check", "--show-settings", "--python", "mine", "--baseline", "b.json").out
    shown = [line for line in shown if line.startswith(("python", "baseline"))]
    assert shown == [f'python = "{root}/mine"  # command line', f'baseline = "{root}/b.json"  # command line']
    assert run("check", "--show-settings").out[-1] == f'baseline = "{root}/a.json"  # {root}/gradlint.toml'
    (root / "gradlint.toml").unlink()
    shown = run("check", "--show-settings").out
    assert f'python = "{root}/.venv"  # found' in shown and shown[-1] == "# baseline is not set"


def test_files_are_shown(run: Run, tree: Tree) -> None:
    """Those that would be looked at; nothing is checked."""
    tree({"a.py": BOTH, "sub/b.py": BOTH, "venv/c.py": BOTH, "d.txt": ""})
    ran = run("check", "--show-files")
    assert (ran.code, ran.out, ran.err) == (0, ["a.py", "sub/b.py"], [])
    assert run("check", "--show-files", "sub", "--exclude", "b.py").out == []
    assert run("check", "--show-files", "missing").code == 2


def test_a_long_chain_of_files_is_read(run: Run, tree: Tree) -> None:
    """To its end, however long it is; the keys of the first file go on top."""
    tree({f"{at}.toml": f"extend = '{at + 1}.toml'\nfail-on = 'error'" for at in range(1, 1_500)})
    tree({"gradlint.toml": "extend = '1.toml'\nfail-on = 'never'", "1500.toml": "ignore = ['GRD102']", "a.py": BOTH})
    ran = run("check")
    assert (ran.code, codes(ran)) == (0, ["GRD101"])


def test_an_absolute_and_a_home_path_may_be_extended(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a shell would read it."""
    root = tree({"base.toml": "min-severity = 'error'", "gradlint.toml": "extend = '~/base.toml'"})
    monkeypatch.setenv("HOME", str(root))
    assert load(root / "gradlint.toml").min_severity == "error"
    tree({"gradlint.toml": f"extend = '{root}/none.toml'"})
    with pytest.raises(ConfigError, match="no such file"):
        load(root / "gradlint.toml")
