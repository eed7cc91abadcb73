"""Programs that gradlint once crashed on, or took too long for; and that the search for more works."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from gradlint.check import check_source
from tests.fuzz import crash
from tests.fuzz.__main__ import main
from tests.fuzz.programs import Grammar, swapped
from tests.fuzz.settings import check_configuration, configuration

KEPT = sorted((Path(__file__).parent / "kept").glob("*.py"))


@pytest.mark.parametrize("path", KEPT, ids=lambda path: path.stem)
def test_what_once_crashed_does_not(path: Path) -> None:
    """No exception leaves the check."""
    check_source(path.read_text(encoding="utf-8", errors="surrogatepass"), path.name)


@pytest.mark.parametrize("seed", range(20))
def test_a_few_generated_programs(seed: int) -> None:
    """`make fuzz` goes on from here."""
    rng = random.Random(seed)
    for text in (Grammar(rng).program(), swapped(rng)):
        assert crash.crash_of(text) is None, text


def test_generated_configurations(tmp_path: Path) -> None:
    """They are read, or refused in one line."""
    rng = random.Random(0)
    for _ in range(100):
        check_configuration(configuration(rng), tmp_path)


def test_a_crash_is_made_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is what crashes."""

    def check(text: str, filename: str) -> None:
        if "bad" in text:
            raise KeyError(text)

    monkeypatch.setattr(crash, "PACKAGE", Path(__file__).parent)
    monkeypatch.setattr(crash, "check_source", check)
    text = "".join(f"x{number} = {number}\n" for number in range(30)) + "y = [bad, 1]\n"
    found = crash.crash_of(text)
    assert found == "KeyError in test_kept.py:check"
    assert crash.smallest(text, found) == "bad"


@pytest.mark.skipif(sys.platform != "linux", reason="memory is looked at on Linux only")
def test_much_memory_is_a_crash(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each program by itself."""

    def check(text: str, filename: str) -> None:
        len(b"x" * int(text))

    monkeypatch.setattr(crash, "MEGABYTES", 20)
    monkeypatch.setattr(crash, "check_source", check)
    found = [crash.crash_of(text) for text in ("100", "400000000", "100")]
    assert found == [None, "more than 20 MB", None]


def test_a_number_of_programs() -> None:
    """Counted, the same each time, and nothing is written."""
    before = sorted(Path(__file__).parent.rglob("*.py"))
    result = CliRunner().invoke(main, ["--count", "3", "--seed", "7"])
    assert (result.exit_code, result.output) == (0, "3 programs checked, up to seed 7: no crash\n")
    assert sorted(Path(__file__).parent.rglob("*.py")) == before
