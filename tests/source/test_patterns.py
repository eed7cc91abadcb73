"""Patterns match what they match for git, and cost no more than their length for each letter."""

from __future__ import annotations

import random
import subprocess
from pathlib import Path

import pytest

from gradlint.source.patterns import Patterns

LETTERS = ["a", "b", "*", "**", "?", "/", "/**/", "**/", "/**", "[ab]", "[!a]", "[^b]", "[a-c]", "[]-]", "[", "]", "\\"]
LETTERS += ["\\*", "!", "#", " ", "\\ ", "[[:alpha:]]", "[[:digit:]-]", "[[:x:]]", "[a-\\]]", "-", "é", ".py", "[[:a]"]
NAMES = ["a", "b", "ab", "c", "aa", "b.py", "a b", "é", "-", "]", "*", "1", "!a", "#", "\\", "[", "a ", "abc.py"]


def _pattern(rng: random.Random) -> str:
    return "".join(rng.choice(LETTERS) for _ in range(rng.randint(1, 5)))


def _paths(rng: random.Random) -> list[str]:
    """Return paths of files, none of which is also a directory: git looks on the disk for what a path is."""
    folders = {"/".join(rng.choice(NAMES) for _ in range(rng.randint(0, 3))) for _ in range(12)}
    return sorted({f"{folder}/{rng.choice(NAMES)}_".lstrip("/") for folder in folders} | {"a_", "ab_", "b.py_"})


@pytest.mark.parametrize("seed", range(40))
def test_what_git_ignores_is_ignored(seed: int, tmp_path: Path) -> None:
    """Many lists of lines and paths, put before `git check-ignore`."""
    rng = random.Random(seed)
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    paths = _paths(rng)
    for path in paths:
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).touch()
    for _ in range(15):
        lines = [_pattern(rng) for _ in range(rng.randint(1, 3))]
        (tmp_path / ".gitignore").write_bytes("\n".join(lines).encode())
        asked = b"\0".join(path.encode() for path in paths)
        command = ["git", "-C", str(tmp_path), "check-ignore", "--no-index", "-z", "--stdin"]
        answer = subprocess.run(command, input=asked, capture_output=True).stdout
        ignored = {path.decode() for path in answer.split(b"\0") if path}
        patterns = Patterns(lines)
        assert {path for path in paths if patterns.match(path, is_directory=False)} == ignored, lines


@pytest.mark.parametrize(
    ("line", "path", "is_directory", "expected"),
    [
        ("build/", "build", True, True),
        ("build/", "build", False, None),
        ("build/", "build/a.py", False, True),
        ("/a.py", "sub/a.py", False, None),
        ("sub/*.py", "sub/a.py", False, True),
        ("sub/*.py", "sub/deep/a.py", False, None),
        ("**/deep/**", "sub/deep/a.py", False, True),
        ("!a.py", "a.py", False, False),
        ("# a.py", "a.py", False, None),
        ("\\#a", "#a", False, True),
        ("a.py   ", "a.py", False, True),
        ("a.py\r", "a.py", False, True),
        ("a\\ ", "a ", False, True),
        ("[a", "[a", False, None),
    ],
)
def test_lines(line: str, path: str, is_directory: bool, expected: bool | None) -> None:
    """What the manual of `.gitignore` says of its lines."""
    assert Patterns([line]).match(path, is_directory=is_directory) is expected


def test_the_last_line_decides() -> None:
    """As in git, but nothing below a directory that is named comes back."""
    patterns = Patterns(["*.py", "!a.py", "out/"])
    assert [patterns.match(path, is_directory=False) for path in ("a.py", "b.py", "out/a.py")] == [False, True, True]


def test_stars_cost_no_more_than_they_are_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """A set of letters is looked at once for each letter of the path, however many stars there are."""
    steps = 0
    skipped = "gradlint.source.patterns._Automaton._skipped"
    from gradlint.source.patterns import _Automaton

    original = _Automaton._skipped

    def counted(self: _Automaton, now: int) -> int:
        nonlocal steps
        steps += 1
        return original(self, now)

    monkeypatch.setattr(skipped, counted)
    assert Patterns(["a*" * 40 + "b"]).match("a" * 200, is_directory=False) is None
    assert steps <= 201
