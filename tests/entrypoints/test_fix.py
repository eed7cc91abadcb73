"""`--fix`, `--unsafe-fixes`, `--diff`, `--show-fixes`: files are rewritten on request, and as a whole."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradlint.entrypoints.cli import cli
from gradlint.entrypoints.fixing import write_files
from gradlint.outcome import Checked, Mended, Outcome
from tests.entrypoints.conftest import Run
from tests.entrypoints.fakes import GROWS

Tree = Callable[[Mapping[str, str | bytes]], Path]
TWO = "import torch\nfault_safe  # why\nfault_unsafe\n"


def test_without_asking_nothing_is_written(run: Run, tree: Tree) -> None:
    """What could be fixed is marked, and counted."""
    root = tree({"a.py": TWO})
    ran = run("check")
    assert ran.out == [
        "a.py:2:1: warning: GRD102 leaf-view-inplace [*]: memory grows",
        f"a.py:3:1: {GROWS}",
    ]
    assert ran.err[1:] == ["1 fixable with `--fix` (1 more fix with `--unsafe-fixes`)."]
    assert (root / "a.py").read_text() == TWO


def test_fix_makes_the_safe_ones(run: Run, tree: Tree) -> None:
    """What is left is reported, and decides the exit code."""
    root = tree({"a.py": TWO})
    ran = run("check", "--fix", "--show-fixes")
    assert (root / "a.py").read_text() == "import torch\nmended  # why\nfault_unsafe\n"
    assert (ran.code, ran.out) == (1, [f"a.py:3:1: {GROWS}"])
    assert ran.err[:2] == ["Fixed in a.py:", "     1  GRD102  leaf-view-inplace"]
    assert ran.err[3:] == ["Fixed 1 finding.", "1 more fix with `--unsafe-fixes`."]


def test_unsafe_fixes_are_asked_for_on_their_own(run: Run, tree: Tree) -> None:
    """With both, nothing is left."""
    root = tree({"a.py": TWO})
    ran = run("check", "--fix", "--unsafe-fixes")
    assert (root / "a.py").read_text() == "import torch\nmended  # why\nmended\n"
    assert (ran.code, ran.out) == (0, [])


def test_diff_shows_and_writes_nothing(run: Run, tree: Tree) -> None:
    """A unified diff on standard output; exit 1 where there is something to change."""
    root = tree({"a.py": TWO, "b.py": "import torch\nfault_a\n"})
    ran = run("check", "--diff")
    assert (ran.code, ran.out) == (
        1,
        [
            "--- a.py",
            "+++ a.py",
            "@@ -1,3 +1,3 @@",
            " import torch",
            "-fault_safe  # why",
            "+mended  # why",
            " fault_unsafe",
        ],
    )
    assert (root / "a.py").read_text() == TWO
    assert run("check", "--diff", "b.py").code == 0


def test_a_fix_that_does_not_parse_is_not_made(run: Run, tree: Tree) -> None:
    """It is reported as ours, exit 2; the fixes of other rules and files are made."""
    broken = "import torch\nfault_broken\n"
    root = tree({"a.py": broken, "b.py": "import torch\nfault_safe\n"})
    ran = run("check", "--fix")
    assert ran.code == 2
    assert ran.err[0] == "gradlint: error: a.py: the fix of GRD102 is wrong here, and was not made; please report it"
    assert (root / "a.py").read_text() == broken
    assert (root / "b.py").read_text() == "import torch\nmended\n"


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbfimport torch\r\nx = '\xc3\xa9'; fault_safe\r\n",
        b"# coding: latin-1\nimport torch\nx = '\xe9', fault_safe",
        b"import torch\n\x0cif torch:\n\tfault_safe\n",
    ],
)
def test_bytes_around_the_fix_stay(run: Run, tree: Tree, content: bytes) -> None:
    """Byte order marks, line ends, encodings, tabs, form feeds, and a missing last line end."""
    root = tree({"a.py": content})
    run("check", "--fix")
    assert (root / "a.py").read_bytes() == content.replace(b"fault_safe", b"mended")


def test_a_form_feed_in_front_of_a_statement_keeps_fixes_away(run: Run, tree: Tree) -> None:
    """The parser forgets it, so that columns would be wrong; the finding stands."""
    root = tree({"a.py": b"import torch\n\x0cfault_safe\n", "b.py": b"import torch\n\x0c\nfault_safe\n"})
    assert run("check", "--fix").code == 1
    assert (root / "a.py").read_bytes() == b"import torch\n\x0cfault_safe\n"
    assert (root / "b.py").read_bytes() == b"import torch\n\x0c\nmended\n"


def test_modes_and_links_stay(run: Run, tree: Tree) -> None:
    """The file that a link names is written, and nothing is left beside it."""
    root = tree({"src/a.py": TWO})
    (root / "src/a.py").chmod(0o751)
    (root / "link.py").symlink_to(root / "src/a.py")
    run("check", "--fix", "link.py")
    assert (root / "link.py").is_symlink()
    assert (root / "src/a.py").read_text().startswith("import torch\nmended")
    assert (root / "src/a.py").stat().st_mode & 0o777 == 0o751
    assert [path.name for path in (root / "src").iterdir()] == ["a.py"]


def test_a_file_that_cannot_be_written_is_told(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """One clear line, exit 2; the others are fixed."""
    root = tree({"a.py": TWO, "b.py": TWO})
    monkeypatch.setattr("os.access", lambda path, mode: Path(path).name != "a.py")
    ran = run("check", "--fix")
    assert (ran.code, ran.err[0]) == (2, "gradlint: error: a.py: not fixed: it may not be written")
    assert (root / "a.py").read_text() == TWO
    assert (root / "b.py").read_text() != TWO


def test_a_letter_that_the_encoding_lacks(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The file stays as it is."""
    content = b"# coding: latin-1\nimport torch\nfault_safe\n"
    root = tree({"a.py": content})
    monkeypatch.setattr("gradlint.fixes.edits._written", lambda text, changes: text.replace("fault_safe", "'\u2603'"))
    ran = run("check", "--fix")
    assert (ran.code, ran.err[0]) == (
        2,
        "gradlint: error: a.py: not fixed: its encoding has no letter for '\u2603'",
    )
    assert (root / "a.py").read_bytes() == content


def test_a_file_changed_meanwhile_stays(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """What somebody else has written is not overwritten."""
    root = tree({"a.py": TWO})
    monkeypatch.setattr("gradlint.entrypoints.fixing.text_of", lambda content, name: "something else")
    ran = run("check", "--fix")
    assert (ran.code, ran.err[0]) == (
        2,
        "gradlint: error: a.py: not fixed: it has been changed meanwhile, and stays as it is",
    )
    assert (root / "a.py").read_text() == TWO


def test_standard_input_is_mended_to_standard_output(run: Run) -> None:
    """And the findings that are left go to standard error."""
    ran = run("check", "--fix", "-", stdin=TWO.encode())
    assert ran.out == ["import torch", "mended  # why", "fault_unsafe"]
    assert ran.err[0] == f"-:3:1: {GROWS}"
    assert run("check", "--fix", "-", stdin=b"import torch\n").out == ["import torch"]


def test_configuration_says_what_may_be_fixed(run: Run, tree: Tree) -> None:
    """`fixable` and `unfixable` by code, prefix or name; the longer prefix wins, the command line goes on top."""
    root = tree({"a.py": TWO, "pyproject.toml": '[tool.gradlint]\nunfixable = ["GRD1"]\n'})
    assert run("check", "--fix").code == 1
    assert (root / "a.py").read_text() == TWO
    assert run("check", "--fixable", "GRD102", "--no-fix").err[-1].startswith("1 fixable")
    run("check", "--fix", "--fixable", "GRD102", "--unsafe-fixes")
    assert "fault" not in (root / "a.py").read_text()
    tree({"pyproject.toml": '[tool.gradlint]\nunfixable = ["GRD9"]\n'})
    assert "`GRD9` is not the code" in run("check").err[0]


def test_noqa_keeps_a_fix_away(run: Run, tree: Tree) -> None:
    """What is silenced is not changed."""
    content = "import torch\nfault_safe  # noqa: GRD102\n"
    root = tree({"a.py": content})
    assert run("check", "--fix").code == 0
    assert (root / "a.py").read_text() == content


def test_summaries_are_true_when_nothing_could_be_written(
    run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As on a full disk: what was found is still there, nothing counts as fixed, nothing is left beside the file."""

    def full(handle: int) -> None:
        raise OSError(28, "No space left on device")

    root = tree({"a.py": TWO})
    monkeypatch.setattr("os.fsync", full)
    ran = run("check", "--fix")
    assert (ran.code, ran.err[0]) == (
        2,
        "gradlint: error: a.py: not fixed: it cannot be written: No space left on device",
    )
    assert not any("Fixed" in line or "No findings" in line for line in ran.err)
    assert ran.out[0].startswith("a.py:2:1: warning: GRD102")
    assert [path.name for path in root.iterdir()] == ["a.py"]


def test_a_file_of_several_names_stays(run: Run, tree: Tree) -> None:
    """Hard links would come apart."""
    root = tree({"a.py": TWO})
    os.link(root / "a.py", root / "other.txt")
    ran = run("check", "--fix")
    assert "a.py: not fixed: it has several names (hard links)" in ran.err[0]
    assert (root / "a.py").read_text() == TWO


def test_a_link_beside_its_file_is_written_once(run: Run, tree: Tree) -> None:
    """Both names show the mended text."""
    root = tree({"b.py": TWO})
    (root / "a.py").symlink_to("b.py")
    assert run("check", "--fix").code == 1
    assert (root / "a.py").is_symlink()
    assert (root / "b.py").read_text() != TWO


def test_a_file_keeps_its_owner(run: Run, tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """The new file gets it; where that is not allowed, the old one stays."""
    root = tree({"a.py": TWO})
    owner = os.stat(root / "a.py")
    asked: list[tuple[int, int]] = []
    monkeypatch.setattr("gradlint.entrypoints.replacing._owner", lambda path: (os.stat(path).st_ino, 0))
    monkeypatch.setattr("os.chown", lambda path, user, group: asked.append((user, group)))
    run("check", "--fix")
    assert asked == [(owner.st_ino, 0)]
    tree({"a.py": TWO})

    def refuse(path: Path, user: int, group: int) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr("os.chown", refuse)
    assert "a.py: not fixed: it cannot be written" in run("check", "--fix").err[0]
    assert (root / "a.py").read_text() == TWO


def test_the_tree_does_not_say_that_files_are_written(run: Run, tree: Tree) -> None:
    """`fix = true` counts in a file that the command line names, and not in one that stands in the tree."""
    root = tree({"a.py": TWO, "gradlint.toml": "fix = true\n"})
    run("check")
    assert (root / "a.py").read_text() == TWO
    run("check", "--config", "gradlint.toml")
    assert (root / "a.py").read_text() != TWO


def test_a_terminated_run_leaves_nothing(tree: Tree, monkeypatch: pytest.MonkeyPatch) -> None:
    """SIGTERM in the midst of writing: the old file stands there alone, and the signal is what it was."""
    root = tree({"a.py": TWO})
    former = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr("os.fsync", lambda handle: os.kill(os.getpid(), signal.SIGTERM))
    mended = Mended(TWO, "import torch\n")
    with pytest.raises(SystemExit):
        write_files(Outcome((Checked(str(root / "a.py"), mended=mended),)))
    assert [(path.name, path.read_text()) for path in root.iterdir()] == [("a.py", TWO)]
    assert signal.getsignal(signal.SIGTERM) is former


def test_fix_only_reports_nothing(run: Run, tree: Tree) -> None:
    """What is left is neither shown nor counted."""
    root = tree({"a.py": TWO})
    ran = run("check", "--fix-only")
    assert (ran.code, ran.out, "Fixed 1 finding." in ran.err) == (0, [], True)
    assert (root / "a.py").read_text() != TWO


def test_a_fix_may_fail_the_run(run: Run, tree: Tree) -> None:
    """In pre-commit, where a file that was rewritten has to be looked at."""
    tree({"a.py": "import torch\nfault_safe\n"})
    assert run("check", "--exit-non-zero-on-fix").code == 1
    assert run("check", "--fix", "--exit-non-zero-on-fix", "--exit-zero").code == 1
    assert run("check", "--fix", "--exit-non-zero-on-fix").code == 0
    tree({"a.py": "import torch\nfault_safe\n"})
    assert run("check", "--fix").code == 0


def test_marks_and_counts_go_by_the_configuration_of_the_file(run: Run, tree: Tree) -> None:
    """And not by that of the current directory."""
    tree({"gradlint.toml": "unfixable = ['ALL']", "a.py": TWO, "sub/gradlint.toml": "", "sub/b.py": TWO})
    ran = run("check")
    assert [(line.split(":")[0], "[*]" in line) for line in ran.out] == [
        *(("a.py", False), ("a.py", False), ("sub/b.py", True), ("sub/b.py", False)),
    ]
    assert ran.err[1:] == ["1 fixable with `--fix` (1 more fix with `--unsafe-fixes`)."]


def test_what_only_another_file_shows_is_still_reported_after_a_fix(tree: Tree) -> None:
    """The real rules: `main.py` shows the error in `helper.py`, and by itself `helper.py` shows the other finding."""
    root = tree({"helper.py": _HELPER, "main.py": _MAIN})
    ran = CliRunner().invoke(cli, ["check", "--isolated", "--fix", "--no-cache", str(root)])
    assert "self.weight.fill_(0.5)" in (root / "helper.py").read_text()
    said = "GRD101 leaf-inplace: `-=` writes in place to the leaf `w`, which requires grad: torch raises here"
    assert (ran.exit_code, ran.stdout) == (1, f"{root}/helper.py:15:5: error: {said}\n")
    assert "Fixed 1 finding." in ran.stderr


_HELPER = """\
import torch


class Scale(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(3))
        self.weight.data.fill_(0.5)

    def forward(self, x):
        return x * self.weight

def step(w):
    w -= 0.1 * w.grad
"""
_MAIN = """\
import torch
from helper import step

w = torch.ones(3, requires_grad=True)
(w * w).sum().backward()
step(w)
"""
