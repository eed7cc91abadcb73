"""What nobody wants to be given: one clear line each, nothing lost, the run goes on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.entrypoints.conftest import Run
from tests.entrypoints.fakes import RAISES

Tree = Callable[[Mapping[str, str | bytes]], Path]
ONE = "import torch\nfault_a\n"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"import torch\ndef f(:\n", "2:7: error: GRD001 invalid-syntax: invalid syntax"),
        (b"import torch\nx = (1,\n\ny = 2\n", "2:5: error: GRD001 invalid-syntax: '(' was never closed"),
        (
            b"import torch\nif 1:\ny = 1\n",
            "3:1: error: GRD001 invalid-syntax: expected an indented block after 'if' statement on line 2",
        ),
        (
            b"import torch\nx = 1\0\n",
            "2:6: error: GRD001 invalid-syntax: the file contains a NUL byte, which Python refuses",
        ),
        (
            b"import torch\ns = 'gr\xfc\xdfe'\n",
            "2:8: error: GRD001 invalid-syntax: byte 0xfc is not UTF-8, and no coding line names another encoding",
        ),
        (b"# -*- coding: no-such -*-\nimport torch\n", "1:1: error: GRD001 invalid-syntax: unknown encoding: no-such"),
        (b"#!/bin/sh\n# coding: nope\nimport torch\n", "2:1: error: GRD001 invalid-syntax: unknown encoding: nope"),
        (
            b"# coding: ascii\nimport torch\n# \xfc\n",
            "3:3: error: GRD001 invalid-syntax: byte 0xfc is not ascii, which the coding line names",
        ),
        (
            b"\xfc = 1\nimport torch\n",
            "1:1: error: GRD001 invalid-syntax: byte 0xfc is not UTF-8, and no coding line names another encoding",
        ),
        (
            b"# coding: rot13\nimport torch\n",
            "1:1: error: GRD001 invalid-syntax: the coding line names no text encoding: 'rot13' is not a text "
            "encoding; use codecs.decode() to handle arbitrary codecs",
        ),
        (
            b"\xef\xbb\xbf# coding: latin-1\nimport torch\n",
            "1:1: error: GRD001 invalid-syntax: encoding problem: utf-8",
        ),
    ],
)
def test_a_file_that_is_no_program(run: Run, tree: Tree, content: bytes, expected: str) -> None:
    """The place and the reason; the file beside it is judged."""
    tree({"bad.py": content, "good.py": ONE})
    ran = run("check")
    assert (ran.code, ran.out) == (
        1,
        [f"bad.py:{expected}", f"good.py:2:1: {RAISES}"],
    )


@pytest.mark.parametrize(
    ("line", "spelling"),
    [
        ("print 'loss', loss", "a print statement"),
        ("print loss", "a print statement"),
        ("if 1: print loss", "a print statement"),
        ('print "%d" % loss', "a print statement"),
        ("print `loss`", "a print statement"),
        ("exec 'x = 1'", "an exec statement"),
        ("raise ValueError, 'bad'", "`raise E, value`"),
        ("x = 1 <> 2", "`<>`"),
        ("x = `1`", "backticks"),
        ("x = 0777", "an octal number without `o`"),
        ("x = 10L", "a long number"),
        ("x = ur'a'", "a `ur` string"),
        ("def f(a, (b, c)): pass", "a tuple parameter"),
        ("f = lambda (a, b): a", "a tuple parameter"),
    ],
)
def test_python_2_is_named(run: Run, tree: Tree, line: str, spelling: str) -> None:
    """By the spelling that gives it away."""
    tree({"old.py": f"import torch\n{line}\n"})
    ran = run("check")
    assert ran.code == 1
    assert f"error: GRD001 invalid-syntax: this is Python 2 ({spelling}), and gradlint reads Python 3: " in ran.out[0]


def test_python_2_is_named_where_something_else_is_refused_first(run: Run, tree: Tree) -> None:
    """Tabs and spaces mixed come before the print statement that tells why."""
    tree({"old.py": "import torch\nif 1:\n        x = 1\n\ty = 2\n\tprint 'x'\n"})
    assert "this is Python 2 (a print statement in line 5)" in run("check").out[0]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\xef\xbb\xbf",
        b"# torch",
        b"\x0c\nimport torch\n\x0c\nx = 1\n",
        b"# coding: latin-1\nimport torch\ns = 'gr\xfc\xdfe'\n",
        b"# coding: gbk\nimport torch\ns = '\xcc\xdd'\n",
        b"import torch\rx = 1\r",
        b"import torch\nx = '\\d'\n",
        b"import torch",
    ],
)
def test_odd_files_that_are_right(run: Run, tree: Tree, content: bytes) -> None:
    """Empty, with other encodings, with form feeds: no complaint, and no warning of Python's."""
    tree({"a.py": content})
    ran = run("check", "a.py")
    assert (ran.code, ran.out, len(ran.err)) == (0, [], 1)


@pytest.mark.parametrize(
    ("content", "place"),
    [
        (b"\xef\xbb\xbfimport torch; fault_a\n", "1:15"),
        (b"import torch\r\n\r\nx = fault_a\r\n", "3:5"),
        (b"\x0cimport torch\n\x0c\nfault_a\n", "3:1"),
        (b"# coding: latin-1\nimport torch\ns = '\xfc', fault_a\n", "3:10"),
        ("import torch\ns = '\N{FIRE}', fault_a\n".encode(), "2:10"),
        ("import torch\ns = '\u2028'\nfault_a\n".encode(), "3:1"),
        (b"import torch\ns = '''\r\n\n'''\nfault_a\n", "5:1"),
        (b"import torch\n\tfault_a\n".replace(b"\n\t", b"\nif 1:\n\t"), "3:2"),
    ],
)
def test_places_are_rows_and_characters(run: Run, tree: Tree, content: bytes, place: str) -> None:
    """Whatever the line ends, the encoding, and the byte order mark; and the frame can be drawn."""
    tree({"a.py": content})
    assert run("check").out == [f"a.py:{place}: {RAISES}"]
    assert "fault_a" in run("check", "--output-format", "full").out[3]


def test_deep_parentheses_are_refused_as_python_refuses_them(run: Run, tree: Tree) -> None:
    """200 are read; 1,000 and 100,000 are one clear line, and fast."""
    for depth in (1_000, 100_000):
        tree({"deep.py": "import torch\nx = " + "(" * depth + "1" + ")" * depth + "\n", "good.py": ONE})
        started = time.process_time()
        ran = run("check")
        assert ran.out == [
            "deep.py:2:205: error: GRD001 invalid-syntax: too many nested parentheses: Python allows 200",
            f"good.py:2:1: {RAISES}",
        ]
        assert time.process_time() - started < 5
    tree({"deep.py": "import torch\nx = " + "(" * 150 + "fault_a" + ")" * 150 + "\n"})
    assert run("check", "deep.py").out == [f"deep.py:2:155: {RAISES}"]


def chain(link: str, length: int) -> str:
    """A statement that nests as often as it has links; each kind of link goes in front or behind."""
    if link in {"-", "not ", "lambda: "}:
        return f"x = {link * length}1\n"
    return f"{'if 1: pass' if link.startswith(chr(10)) else 'x = y'}{link * length}\n"


@pytest.mark.parametrize("link", ["-", "not ", "lambda: ", "+1", " if 1 else 1", "\nelif 1: pass"])
def test_deep_code_of_other_kinds(run: Run, tree: Tree, link: str) -> None:
    """30,000 links are refused like parentheses; Python cannot compile them either."""
    tree({"deep.py": f"import torch\n{chain(link, 30_000)}", "good.py": ONE})
    message = "the code is nested too deeply: Python cannot compile it, and gradlint does not read it"
    assert run("check").out == [
        f"deep.py:1:1: error: GRD001 invalid-syntax: {message}",
        f"good.py:2:1: {RAISES}",
    ]


@pytest.mark.parametrize("link", ["-", "not ", "+1", ".x", "\nelif 1: pass"])
def test_long_chains_that_python_compiles(run: Run, tree: Tree, link: str) -> None:
    """900 links need more than the usual depth of recursion, and are read."""
    tree({"deep.py": f"import torch\n{chain(link, 900)}fault_a\n"})
    assert run("check").out[0].endswith("error: GRD101 leaf-inplace: torch raises here")


def test_big_files(run: Run, tree: Tree) -> None:
    """A function of 5,000 lines, and 5 MB of text: read to the last line."""
    tree({"long.py": "import torch\ndef f():\n" + "    x = 1\n" * 5_000 + "    fault_a\n"})
    assert run("check").out == [f"long.py:5003:5: {RAISES}"]
    tree({"long.py": "import torch\n" + f"x = '{'a' * 990}'\n" * 5_000 + "fault_a\n"})
    assert run("check").out == [f"long.py:5002:1: {RAISES}"]


def test_links_and_pipes(run: Run, tree: Tree) -> None:
    """Dangling and cyclic links are told; directories are not entered by link; a FIFO is not opened."""
    root = tree({"a.py": ONE, "sub/b.py": "import os\n"})
    (root / "dangling.py").symlink_to("nowhere")
    (root / "cycle.py").symlink_to("cycle.py")
    (root / "linked.py").symlink_to("a.py")
    (root / "sub" / "up").symlink_to("..")
    (root / "dir.py").symlink_to("sub")
    os.mkfifo(root / "pipe.py")
    ran = run("check")
    assert (ran.code, ran.out) == (
        1,
        [
            f"a.py:2:1: {RAISES}",
            "cycle.py:1:1: error: GRD002 unreadable-file: cannot be read: Too many levels of symbolic links",
            "dangling.py:1:1: error: GRD002 unreadable-file: cannot be read: No such file or directory",
            f"linked.py:2:1: {RAISES}",
            "pipe.py:1:1: error: GRD002 unreadable-file: this is a FIFO, not a file; standard input is read with `-`",
        ],
    )
    assert run("check", "pipe.py").out[0].startswith("pipe.py:1:1: error: GRD002 unreadable-file: this is a FIFO")
    assert (
        run("check", "dangling.py").out[0].startswith("dangling.py:1:1: error: GRD002 unreadable-file: cannot be read")
    )


def test_what_may_not_be_read(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file and a directory without permission: told, and the others checked."""
    root = tree({"a.py": ONE, "file.py": ONE, "locked/b.py": ONE})
    scandir, opened = os.scandir, os.open

    # Whoever may read everything, as the administrator of a container, would not be refused by the system.
    def refuse_directory(path: Path) -> object:
        if Path(path).name == "locked":
            raise PermissionError(13, "Permission denied")
        return scandir(path)

    def refuse_file(path: Path, flags: int, *mode: int) -> int:
        if Path(path).name == "file.py":
            raise PermissionError(13, "Permission denied")
        return opened(path, flags, *mode)

    monkeypatch.setattr(os, "scandir", refuse_directory)
    monkeypatch.setattr(os, "open", refuse_file)
    (root / "file.py").chmod(0)
    (root / "locked").chmod(0)
    try:
        ran = run("check")
    finally:
        (root / "locked").chmod(0o755)
    assert (ran.code, ran.out) == (
        1,
        [
            f"a.py:2:1: {RAISES}",
            "file.py:1:1: error: GRD002 unreadable-file: cannot be read: Permission denied",
            "locked:1:1: error: GRD002 unreadable-file: this directory cannot be read: Permission denied",
        ],
    )


def test_only_files_about_torch_are_parsed_unless_named(run: Run, tree: Tree) -> None:
    """A broken file that does not mention torch is none of our business; whoever names it wants to know."""
    tree({"other.py": "def f(:\n"})
    assert run("check").out == []
    assert run("check", "other.py").out == ["other.py:1:7: error: GRD001 invalid-syntax: invalid syntax"]


def test_links_that_leave_the_tree(run: Run, tree: Tree, tmp_path_factory: pytest.TempPathFactory) -> None:
    """Nobody reads or writes what they lead to, unless the command line says so; links within the tree are files."""
    outside = tmp_path_factory.mktemp("outside")
    (outside / "victim.py").write_text(ONE)
    root = tree({"a.py": ONE, "sub/b.py": ONE})
    (root / "sub" / "leak.py").symlink_to(outside / "victim.py")
    (root / "sub" / "inside.py").symlink_to("../a.py")
    ran = run("check", "sub")
    assert [line.partition(":")[0] for line in ran.out] == ["sub/b.py"]
    refusal = "this link leads out of the tree, and is not followed without `--follow-links`"
    warnings = [f"gradlint: warning: sub/{name}.py: {refusal}" for name in ("inside", "leak")]
    assert [line for line in ran.err if "leads out" in line] == warnings
    assert run("check", "sub/inside.py").out == [f"sub/inside.py:2:1: {RAISES}"]
    assert (
        run("check", "sub/leak.py").out[0].startswith("sub/leak.py:1:1: error: GRD002 unreadable-file: this link leads")
    )
    names = [line.partition(":")[0] for line in run("check", "--follow-links").out]
    assert names == ["a.py", "sub/b.py", "sub/inside.py", "sub/leak.py"]


NASTY = "\n::set-output name=x::y\x1b]0;\u202e.py"


@pytest.mark.parametrize("name", [NASTY, "::error::x.py", "##[error]x.py"])
@pytest.mark.parametrize("output", [("--output-format", "concise"), ("--output-format", "full"), ("--diff",)])
def test_names_of_files_steer_nothing(run: Run, tree: Tree, name: str, output: tuple[str, ...]) -> None:
    """Neither a terminal nor a log of GitHub: no control characters, no turned text, no command."""
    tree({name: "import torch\nfault_safe\n"})
    ran = run("check", *output)
    for line in (*ran.out, *ran.err):
        assert line.replace("\t", "").isprintable()
        assert not line.startswith("::") and "##[" not in line
    assert any("x.py" in line or "set-output" in line for line in ran.out)


def test_rows_of_a_diff_steer_nothing_where_people_read_it(
    run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a log of GitHub the rows are escaped; a program that applies the diff gets them as they are."""
    tree({"a.py": 'import torch\nx = """\n::error::\a\n"""\nfault_safe\n'})
    monkeypatch.delenv("GITHUB_ACTIONS", raising=False)
    assert " ::error::\a" in run("check", "--diff").out
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    assert r"\x20\x3a\x3aerror::\x07" in run("check", "--diff").out


def test_errors_about_configurations_are_one_line(run: Run, tree: Tree) -> None:
    """What stands in them goes to no terminal raw."""
    tree({"gradlint.toml": 'select = ["GRD999\\u001b[31m\\n::error::"]\n'})
    ran = run("check")
    assert ran.code == 2
    assert len(ran.err) == 1 and ran.err[0].isprintable()


def test_a_configuration_that_nobody_asked_for_stops_nothing(run: Run, tree: Tree) -> None:
    """Files there may import what is checked; that they are not read is said."""
    tree({"a.py": ONE, "other/pyproject.toml": "[tool.gradlint]\nselect = 3\n", "other/b.py": "import a\n"})
    ran = run("check", "a.py", "-q")
    assert ran.code == 1 and any(line.startswith("a.py:2:") for line in ran.out)
    assert len(ran.err) == 1 and ran.err[0].startswith("gradlint: warning: ") and "other" in ran.err[0]
    assert run("check", "other").code == 2
