"""What a run leaves behind is gone at once: cyclic garbage is not collected while files are checked."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable

import libcst as cst

from gradlint.detect import detectors
from gradlint.domain.announcement import Listener
from gradlint.interpreter.interpret import interpret
from gradlint.interpreter.machine import Machine

TEXT = "import torch\n\nw = torch.ones(3, requires_grad=True)\nfor _ in range(3):\n    w += 1\n"


def test_machine_and_detectors_are_gone() -> None:
    """Though they know each other."""
    gone: list[weakref.ref[object]] = []

    def noted(machine: Machine) -> Iterable[Listener]:
        made = tuple(detectors(machine))
        gone.extend(weakref.ref(one) for one in (machine, *made))
        return made

    gc.disable()
    try:
        seen = interpret(cst.parse_module(TEXT), listeners=noted)
        assert seen.events and len(gone) > 10
        assert [one for one in gone if one() is not None] == []
    finally:
        gc.enable()
