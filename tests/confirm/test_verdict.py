"""What a run proves: torch's own error, at the place, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest

from gradlint.check import check_source
from gradlint.confirm.check.evidence import doubt
from gradlint.confirm.prove import Prover
from gradlint.confirm.run.protocol import NOT_DECIDED, Ran
from gradlint.confirm.run.sandbox import Sandbox

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


class _Late(Sandbox):
    """One in which the clock ends the first run."""

    def run(self, *given: Any, **words: Any) -> Ran:
        self.undecided = f"{NOT_DECIDED} no end"
        return super().run(*given, **words)


def test_after_a_run_that_the_clock_ends_nothing_is_said() -> None:
    """Whatever the others have shown: on another day it might have come to something."""
    text = "import torch\nw = torch.ones(3, requires_grad=True)\nw += 1\n"
    (finding,) = check_source(text, "program.py")
    with _Late() as sandbox:
        answer = Prover(sandbox, {finding.code: LEAF}).confirm(finding, text)
    assert (answer.verdict, answer.reason) == ("unconfirmed", "not decided: no end")
