"""Trees that were made to hurt: nothing hangs, nothing fills the memory, nothing outside is read or written."""

from __future__ import annotations

import json
import os
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from encodings import __path__ as encodings
from pathlib import Path

import pytest

from gradlint.entrypoints import check
from gradlint.entrypoints.cli import main
from gradlint.source.environment.cache import FORMAT, Cache
from gradlint.source.environment.index import Index
from gradlint.source.kept import FOLDER, Kept
from gradlint.source.layout import Layout
from tests.entrypoints.conftest import Run

Tree = Callable[[Mapping[str, str | bytes]], Path]
ONE = "import torch\nfault_a\n"
FOUND = "a.py:2:1: error: GRD101 leaf-inplace: torch raises here"


def sparse(path: Path) -> None:
    """Make a file of 15 GB that takes no room on the disk."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        file.truncate(15 << 30)


@pytest.mark.parametrize("name", [".git/info/exclude", ".gitignore", "pyproject.toml", "gradlint.toml"])
def test_what_is_no_file_is_not_opened(run: Run, tree: Tree, name: str) -> None:
    """A FIFO would block for ever."""
    path = tree({"a.py": ONE}) / name
    path.parent.mkdir(parents=True, exist_ok=True)
    os.mkfifo(path)
    ran = run("check", "-q")
    assert (ran.code, ran.out) == (1, [FOUND])
    warned = [f"gradlint: warning: {path}: cannot be read, and counts as empty: this is a FIFO, not a file"]
    assert ran.err == ([] if name.endswith("toml") else warned)


def test_a_configuration_that_is_no_file(run: Run, tree: Tree) -> None:
    """Named on the command line it is one line."""
    os.mkfifo(tree({"a.py": ONE}) / "gradlint.toml")
    ran = run("check", "--config", "gradlint.toml")
    assert (ran.code, ran.err[-1]) == (
        2,
        "gradlint: error: gradlint.toml: cannot be read: this is a FIFO, not a file",
    )


def test_links_that_stand_for_ignore_files(run: Run, tree: Tree) -> None:
    """Git does not follow them either."""
    root = tree({"a.py": ONE, "patterns": "*.py\n"})
    (root / ".gitignore").symlink_to("patterns")
    ran = run("check", "-q")
    assert ran.out == [FOUND] and len(ran.err) == 1


@pytest.mark.parametrize("name", ["x.py", ".gitignore", "pyproject.toml", ".git/info/exclude"])
def test_files_without_an_end(run: Run, tree: Tree, name: str) -> None:
    """Of 15 GB not one byte is read."""
    sparse(tree({"a.py": ONE}) / name)
    ran = run("check", "-q")
    if name == "x.py":
        assert ran.out == [FOUND, "x.py:1:1: error: GRD002 unreadable-file: the file has more than 10,000,000 bytes"]
    elif name == "pyproject.toml":
        assert ran.code == 2 and ran.err[0].endswith("cannot be read: the file has more than 1,000,000 bytes")
    else:
        assert ran.out == [FOUND] and len(ran.err) == 1


def test_standard_input_without_an_end(run: Run) -> None:
    """It is read no further than a file."""
    ran = run("check", "-", stdin=b"#" * 10_000_001)
    assert (ran.code, ran.err[-1]) == (2, "gradlint: error: standard input has more than 10,000,000 bytes")


@pytest.mark.parametrize(
    "text", ["x = 1\n" * 1_000_000, "x = [" + "1," * 200_000 + "]\n", 'x = f"' + "{x}" * 100_000 + '"\n']
)
def test_programs_without_an_end(run: Run, tree: Tree, text: str) -> None:
    """Their syntax alone would take gigabytes."""
    tree({"a.py": ONE, "b.py": f"import torch\n{text}"})
    message = "the program is too long: it has more than 250,000 words, signs, and rows"
    assert run("check").out == [FOUND, f"b.py:1:1: error: GRD002 unreadable-file: {message}"]


def test_long_texts_are_no_long_programs(run: Run, tree: Tree) -> None:
    """What stands in strings and comments takes little."""
    tree({"a.py": ONE + "'''" + "a b c d\n" * 200_000 + "'''\n" + "# a b c d e f\n" * 100_000})
    assert run("check").out == [FOUND]


@contextmanager
def deep(root: Path, levels: int) -> Iterator[None]:
    """Make directories `d` in one another, each 300th with a file; remove them, which pytest could not."""
    for level in range(levels):
        os.mkdir("d")
        os.chdir("d")
        if level % 300 == 0:
            Path("b.py").write_text(ONE)
    bottom = os.open(".", os.O_RDONLY)
    os.chdir(root)
    try:
        yield
    finally:
        os.fchdir(bottom)
        os.close(bottom)
        for _ in range(levels):
            Path("b.py").unlink(missing_ok=True)
            os.chdir("..")
            os.rmdir("d")


@pytest.mark.parametrize("repository", [True, False])
def test_trees_without_a_floor(run: Run, tree: Tree, repository: bool) -> None:
    """Directories nest deeper than Python's recursion, and than a path may be long."""
    with deep(tree({"a.py": ONE, **({".git/HEAD": ""} if repository else {})}), 2_200):
        ran = run("check", "-q")
    refused = [line for line in ran.out if "GRD002" in line]
    assert (ran.code, ran.out[0], len(ran.out), ran.err) == (1, FOUND, 9, [])
    assert len(refused) == 1 and refused[0].endswith("this directory cannot be read: File name too long")


def test_a_file_in_the_depths(run: Run, tree: Tree) -> None:
    """Who names it gets what those get who name the tree."""
    with deep(tree({"a.py": ONE}), 1_300):
        name = "d/" * 1_201 + "b.py"
        assert run("check", "-q", name).out == [f"{name}:2:1: error: GRD101 leaf-inplace: torch raises here"]
        assert run("check", "-q", "d/" * 2_200 + "b.py").code == 2


ENCODINGS = sorted(module.name for module in pkgutil.iter_modules(encodings))


def test_no_coding_line_hurts(run: Run, tree: Tree) -> None:
    """Python takes the names of codecs that decode names of hosts, or nothing at all."""
    texts = {"ascii": b"x = 1\n", "high": b"# \xff\xfe\xe4-\n", "escapes": b"# \\d +AAA-- \\N{DASH} =41 ~}\n"}
    line = "# coding: {}\nimport torch\nfault_a\n"
    tree(
        {
            f"{name}_{kind}.py": line.format(name).encode() + text
            for name in (*ENCODINGS, "utf-8-sig", "utf_8_sig", "x" * 200)
            for kind, text in texts.items()
        }
    )
    ran = run("check", "-q")
    assert (ran.code, ran.err) == (1, [])
    assert all(" GRD001 " in line or " GRD101 " in line for line in ran.out)
    for name in ("idna", "punycode", "unicode_escape", "undefined"):
        fault = f"error: GRD001 invalid-syntax: the coding line names {name}, in which no source is written"
        assert f"{name}_ascii.py:1:1: {fault}" in ran.out


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("x = " + "[" * 100_000, "is nested too deeply to be read"),
        ("x = " + "{a = " * 50_000, "is nested too deeply to be read"),
        ("x = " + "1" * 5_000, "not valid TOML: "),
        ("x = 2026-13-45", "not valid TOML: "),
        ("a." * 100_000 + "b = 1", "has keys of too many parts to be read"),
        ("[" + "a." * 100_000 + "b]", "has keys of too many parts to be read"),
    ],
)
@pytest.mark.parametrize("name", ["pyproject.toml", "gradlint.toml"])
def test_configurations_that_hurt(run: Run, tree: Tree, name: str, text: str, reason: str) -> None:
    """One line, and soon."""
    path = tree({"a.py": ONE, name: f"{text}\n"}) / name
    ran = run("check")
    assert ran.code == 2 and len(ran.err) == 1
    assert re.match(rf"gradlint: error: {re.escape(str(path))}(:1:9)?: {reason}", ran.err[0])


@pytest.fixture
def outside(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project beside the tree that is checked."""
    folder = tmp_path_factory.mktemp("outside")
    (folder / "pyproject.toml").touch()
    (folder / "secret.py").write_text("TOKEN = 'hunter2'\n")
    return folder


@pytest.mark.parametrize("marked", [True, False])
@pytest.mark.parametrize(
    ("link", "dotted"), [("secret.py", "secret"), ("src", "secret"), ("pack", "pack.secret"), ("added", "secret")]
)
def test_imports_do_not_leave_the_tree(tree: Tree, outside: Path, link: str, dotted: str, marked: bool) -> None:
    """Neither by the link of a file nor by that of a directory, which may be a project of its own."""
    root = tree({"a.py": "import sys\nsys.path.insert(0, 'added')\n", **({"gradlint.toml": ""} if marked else {})})
    (root / link).symlink_to(outside / link if link.endswith(".py") else outside)
    importer = str(root / "a.py")
    assert Layout().find(importer, dotted, 0) is None
    assert link == "added" or Layout().find(importer, dotted, 1) is None
    if marked or link != "src":
        assert Layout(follow_links=True).find(importer, dotted, 0) is not None


def test_links_within_a_project_are_followed(tree: Tree) -> None:
    """They lead to what is checked anyway."""
    root = tree({"gradlint.toml": "", "lib/one.py": "", "app/run.py": ""})
    (root / "app" / "one.py").symlink_to("../lib/one.py")
    assert Layout().find(str(root / "app" / "run.py"), "one", 0) == str(root / "app" / "one.py")


@pytest.mark.parametrize("link", [FOLDER, f"{FOLDER}/environment-{FORMAT}", f"{FOLDER}/.gitignore"])
def test_the_cache_writes_nothing_outside(tmp_path: Path, outside: Path, link: str) -> None:
    """Whoever made the tree may have put a link in its place."""
    (tmp_path / link).parent.mkdir(exist_ok=True)
    (tmp_path / link).symlink_to(outside / "secret.py" if link.endswith("ignore") else outside)
    cache = Cache(Kept(tmp_path / FOLDER))
    cache.put("lib-1.0", __file__, Index({"a": [[1, 2]]}, []))
    cache.save()
    assert sorted(path.name for path in outside.iterdir()) == ["pyproject.toml", "secret.py"]
    assert (outside / "secret.py").read_text() == "TOKEN = 'hunter2'\n"


def test_the_cache_is_private_and_whole(tmp_path: Path) -> None:
    """Nobody else reads it, and no half of a file is left."""
    for _ in range(2):
        cache = Cache(Kept(tmp_path / FOLDER))
        cache.put("lib-1.0", __file__, Index({"a": [[1, 2]]}, []))
        cache.save()
    assert Cache(Kept(tmp_path / FOLDER)).get("lib-1.0", __file__) == Index({"a": [[1, 2]]}, [])
    made = [path for path in (tmp_path / FOLDER).rglob("*") if path.is_file()]
    assert sorted(path.name for path in made) == [".gitignore", "lib-1.0.json"]
    assert {path.stat().st_mode & 0o077 for path in ((tmp_path / FOLDER), *made)} == {0}


@pytest.mark.parametrize("rows", [[1, 10**12], [-5, 2], [3, 1], [float("inf"), 2], ["a", 1], 7, [True]])
def test_what_a_tree_claims_to_be_a_cache(tmp_path: Path, rows: object) -> None:
    """Rows that no file has are not believed."""
    cache = Cache(Kept(tmp_path / FOLDER))
    cache.put("lib-1.0", __file__, Index({"a": [[1, 2]]}, []))
    cache.save()
    (path,) = (tmp_path / FOLDER).glob("*/lib-1.0.json")
    held = json.loads(path.read_text())
    held[__file__][1]["a"] = [rows]
    for text in (json.dumps(held), "[" * 100_000, "[]", "{"):
        path.write_text(text)
        assert Cache(Kept(tmp_path / FOLDER)).get("lib-1.0", __file__) is None


def test_a_directory_that_vanishes(
    fake_world: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """While it is checked: the names of files have no place to start from any more."""
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)

    def vanish(*_: object, **__: object) -> Path:
        gone.rmdir()
        return Path.cwd()

    monkeypatch.setattr(check, "check_paths", vanish)
    assert main(["check"]) == 2
    line = "gradlint: error: the current directory cannot be read: No such file or directory\n"
    assert capsys.readouterr().err == line
