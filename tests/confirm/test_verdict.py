"""What a run proves: torch's error at the place, measures that are all true, and nothing else."""

from __future__ import annotations

import pytest

from gradlint.confirm.check.verdict import Expectation, judge
from gradlint.confirm.run.protocol import Probed, Ran

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
RAISES = Expectation("raises", "a leaf Variable", 3)
SILENT = Expectation("grad-none", probes=("grad_is_none(w)", "True"))
RAISED = Ran("raised", "RuntimeError", LEAF, 3, (3,))


@pytest.mark.parametrize(
    ("ran", "verdict", "reason"),
    [
        (RAISED, "confirmed", "torch raised the error"),
        (Ran("finished"), "refuted", "it ran through: torch raised nothing"),
        (RAISED._replace(line=4), "unconfirmed", f"the repro raises elsewhere, in line 4: {LEAF}"),
        (RAISED._replace(message="no"), "unconfirmed", "torch raises something else: no"),
        (RAISED._replace(forced=True), "unconfirmed", f"the repro raises RuntimeError by itself: {LEAF}"),
        (RAISED._replace(error_type="KeyError"), "unconfirmed", f"the repro raises KeyError by itself: {LEAF}"),
        (Ran("timeout", message="late"), "unconfirmed", "the repro takes too long: late"),
        (Ran("denied", message="open"), "unconfirmed", "the repro does what the sandbox forbids: open"),
    ],
)
def test_an_error_is_confirmed_by_text_and_line(ran: Ran, verdict: str, reason: str) -> None:
    """The same error elsewhere, or one that the repro made, is none."""
    said = judge(RAISES, ran)
    assert (said.verdict, said.reason) == (verdict, reason)


def test_a_text_that_is_only_quoted_proves_nothing() -> None:
    """`int("a leaf Variable ...")` raises with any text; a type's name in quotes is torch's own."""
    quoted = RAISED._replace(error_type="ValueError", message=f"invalid literal for int() with base 10: '{LEAF}'")
    assert judge(RAISES, quoted).verdict == "unconfirmed"
    named = RAISED._replace(error_type="TypeError", message="unsupported operand: 'float' and 'NoneType'")
    assert judge(RAISES._replace(pattern="NoneType"), named).verdict == "confirmed"


@pytest.mark.parametrize(
    ("ran", "verdict", "reason"),
    [
        (Ran("finished", values=(Probed(True), Probed(True))), "confirmed", "the effect was measured"),
        (Ran("finished", values=(Probed(False), Probed(True))), "refuted", "`grad_is_none(w)` is False"),
        (Ran("finished", values=(Probed(1), Probed(True))), "refuted", "`grad_is_none(w)` is 1"),
        (Ran("finished", values=(Probed(error="no"), Probed(True))), "unconfirmed", "`grad_is_none(w)` raises no"),
        (Ran("finished"), "unconfirmed", "there is no measure of the effect"),
        (RAISED, "unconfirmed", f"the repro raises RuntimeError: {LEAF}"),
    ],
)
def test_a_silent_effect_is_confirmed_by_measures(ran: Ran, verdict: str, reason: str) -> None:
    """All of them must be true."""
    said = judge(SILENT, ran)
    assert (said.verdict, said.reason) == (verdict, reason)
