"""Detectors: each listens to what a machine announces, and reports one family of faults."""

from __future__ import annotations

from collections.abc import Callable

from gradlint.detect.custom_function import CustomFunctionDetector
from gradlint.detect.data_write import DataWriteDetector
from gradlint.detect.element_types import ElementTypeDetector
from gradlint.detect.flags import FlagDetector, ModuleUseDetector
from gradlint.detect.formula import FormulaDetector
from gradlint.detect.gradients import GradientReadDetector, SecondOrderDetector, UninitialisedDetector
from gradlint.detect.graph_growth import GraphGrowthDetector
from gradlint.detect.graph_use import GraphUseDetector
from gradlint.detect.legacy import LegacyDetector
from gradlint.detect.loop_order import LoopOrderDetector
from gradlint.detect.lost_gradient import LostGradientDetector
from gradlint.detect.network_alias import NetworkAliasDetector
from gradlint.detect.optimizers import MembershipDetector
from gradlint.detect.registration import RegistrationDetector
from gradlint.detect.spelling import SpellingDetector
from gradlint.detect.stale import SamplerDetector, StateDictDetector, TrainingModeDetector
from gradlint.detect.switched_off import SwitchedOffDetector
from gradlint.domain.announcement import Listener
from gradlint.interpreter.machine import Machine

ALL: tuple[Callable[[Machine], Listener], ...] = (
    CustomFunctionDetector,
    GraphGrowthDetector,
    LoopOrderDetector,
    ModuleUseDetector,
    NetworkAliasDetector,
    MembershipDetector,
    RegistrationDetector,
    GradientReadDetector,
    GraphUseDetector,
    DataWriteDetector,
    ElementTypeDetector,
    FlagDetector,
    FormulaDetector,
    LegacyDetector,
    LostGradientDetector,
    SamplerDetector,
    SecondOrderDetector,
    SpellingDetector,
    StateDictDetector,
    SwitchedOffDetector,
    TrainingModeDetector,
    UninitialisedDetector,
)


def detectors(machine: Machine) -> list[Listener]:
    """Return one detector of each family, for one run."""
    return [family(machine) for family in ALL]
