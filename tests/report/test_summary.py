"""A run in a line, and in numbers."""

from __future__ import annotations

from gradlint.outcome import Checked, Crash, Outcome
from gradlint.report.summary import MOST, statistics, summary


def test_nothing_found() -> None:
    """How much was looked at."""
    outcome = Outcome((Checked("a.py", interpreted=True), Checked("b.py", interpreted=True), Checked("c.py")))
    assert summary(outcome) == "No findings: 3 files checked, 2 of which are about torch."


def test_what_crashed_was_not_checked() -> None:
    """It must not look clean."""
    outcome = Outcome((Checked("a.py"), Checked("b.py", crash=Crash("b.py", "KeyError: 1", ""))))
    assert summary(outcome) == (
        "No findings: 1 file checked, 0 of which are about torch; an internal error kept us from 1 more file."
    )


def test_the_long_tail_of_what_was_not_followed_is_summed_up() -> None:
    """The most frequent come first."""
    give_ups = {f"torch.op_{number:02}": number for number in range(1, MOST + 3)}
    lines = list(statistics(Outcome((Checked("a.py", give_ups=give_ups),))))
    assert lines[0] == "    22  not followed: torch.op_22"
    assert lines[-2:] == ["     3  not followed: torch.op_03", "     3  not followed: 2 other things"]
