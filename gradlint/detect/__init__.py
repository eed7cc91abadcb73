"""Detectors: each listens to what a machine announces, and reports one family of faults."""

from __future__ import annotations

from collections.abc import Callable

from gradlint.detect.epochs import EpochDetector
from gradlint.detect.idle_optimizer import IdleOptimizerDetector
from gradlint.detect.loop_order import LoopOrderDetector
from gradlint.detect.loop_variable import LoopVariableDetector
from gradlint.detect.state_dict import StateDictDetector
from gradlint.detect.training_mode import TrainingModeDetector
from gradlint.domain.announcement import Listener
from gradlint.interpreter.machine import Machine

_ALL: tuple[Callable[[Machine], Listener], ...] = (
    EpochDetector,
    IdleOptimizerDetector,
    LoopOrderDetector,
    LoopVariableDetector,
    StateDictDetector,
    TrainingModeDetector,
)


def detectors(machine: Machine) -> list[Listener]:
    """One detector of each family, for one run."""
    return [family(machine) for family in _ALL]
