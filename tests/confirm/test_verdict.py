"""What a run proves: torch's own error, at the place, and nothing else."""

from __future__ import annotations

import pytest

from gradlint.confirm.check.evidence import doubt
from gradlint.confirm.run.protocol import Ran

LEAF = "a leaf Variable that requires grad is being used in an in-place operation."
RAISED = Ran("raised", "RuntimeError", LEAF, 3, (3,))


@pytest.mark.parametrize(
    ("ran", "reason"),
    [
        (RAISED, None),
        (Ran("finished"), "it ran through: torch raised nothing"),
        (RAISED._replace(line=4), f"the repro raises elsewhere, in line 4: {LEAF}"),
        (RAISED._replace(message="no"), "torch raises something else: no"),
        (RAISED._replace(forced=True), f"the repro raises RuntimeError by itself: {LEAF}"),
        (RAISED._replace(error_type="KeyError"), f"the repro raises KeyError by itself: {LEAF}"),
        (Ran("timeout", message="late"), "the repro takes too long: late"),
        (Ran("denied", message="open"), "the repro does what the sandbox forbids: open"),
    ],
)
def test_an_error_is_confirmed_by_text_and_line(ran: Ran, reason: str | None) -> None:
    """The same error elsewhere, or one that the repro made, is none."""
    assert doubt(ran, "a leaf Variable", 3) == reason


def test_a_text_that_is_only_quoted_proves_nothing() -> None:
    """`int("a leaf Variable ...")` raises with any text; a type's name in quotes is torch's own."""
    quoted = RAISED._replace(error_type="ValueError", message=f"invalid literal for int() with base 10: '{LEAF}'")
    assert doubt(quoted, "a leaf Variable") is not None
    named = RAISED._replace(error_type="TypeError", message="unsupported operand: 'float' and 'NoneType'")
    assert doubt(named, "NoneType") is None
