"""Detectors: each listens to what a machine announces, and reports one family of faults."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pkgutil import walk_packages

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import Listener
from gradlint.interpreter.machine import Machine

for _found in walk_packages(__path__, f"{__name__}."):
    import_module(_found.name)

ALL: tuple[Callable[[Machine], Listener], ...] = tuple(sorted(Detector.__subclasses__(), key=lambda one: one.__name__))
"""The detectors of all files here, which is how they are found."""


def detectors(machine: Machine) -> list[Listener]:
    """Return one detector of each family, for one run."""
    return [family(machine) for family in ALL]
