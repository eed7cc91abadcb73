"""Detectors: each listens to what a machine announces, and reports one family of faults."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from pkgutil import walk_packages

from gradlint.detect.detector import Detector
from gradlint.domain.announcement import Listener
from gradlint.domain.clock import OutOfTimeError
from gradlint.interpreter.machine import Machine, OutOfBudgetError
from gradlint.plugins.guard import guarded
from gradlint.plugins.installed import RULES, Plugin, plugins

for _found in walk_packages(__path__, f"{__name__}."):
    import_module(_found.name)

ALL: tuple[Callable[[Machine], Listener], ...] = tuple(sorted(Detector.__subclasses__(), key=lambda one: one.__name__))
"""The detectors of all files here, which is how they are found."""


def detectors(machine: Machine) -> list[Listener]:
    """Return one detector of each family, for one run; those of plugins come last."""
    house = [_made(plugin, family, machine) for plugin in plugins(RULES) for family in _families_in(plugin)]
    return [*(family(machine) for family in ALL), *(detector for detector in house if detector is not None)]


def _families_in(plugin: Plugin) -> Iterator[type[Detector[object]]]:
    """Yield the detectors that the plugin's module defines."""
    for member in vars(plugin.value).values():
        is_detector = isinstance(member, type) and issubclass(member, Detector)
        if is_detector and member.__module__ == getattr(plugin.value, "__name__", None):
            yield member


def _made(plugin: Plugin, family: type[Detector[object]], machine: Machine) -> Listener | None:
    """Return a detector whose mistakes are noted as the plugin's; None if it cannot even be made."""
    who = f"detector {family.__name__} of {plugin.package}"
    guard = partial(guarded, who, passing=(OutOfTimeError, OutOfBudgetError))
    detector = guard(lambda: family(machine))
    for name in dir(family) if detector is not None else ():
        if name.startswith("on_"):
            setattr(detector, name, _heard(guard, getattr(detector, name)))
    return detector


def _heard(guard: Callable[[Callable[[], object]], object], handler: Callable[..., object]) -> Callable[..., None]:
    def hear(state: object, it: object) -> None:
        guard(lambda: handler(state, it))

    return hear
