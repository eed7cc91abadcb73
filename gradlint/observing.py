"""Run a file while somebody looks on: for `gradlint explain`, `gradlint graph` and `gradlint leaves`."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from gradlint.detect import detectors
from gradlint.facts.versions import stating
from gradlint.interpreter.interpret import Interpretation, interpret
from gradlint.interpreter.machine import Observer
from gradlint.settings.config import Config
from gradlint.source.files import Unit
from gradlint.source.place import Places
from gradlint.source.projects import Projects
from gradlint.source.read import Unusable

Watcher = TypeVar("Watcher", bound=Observer)


class Observed(NamedTuple):
    """A file that was run."""

    unit: Unit
    ran: Interpretation


def observe(
    text: str,
    filename: str,
    config: Config,
    watcher: Callable[[Unit, Places], Watcher],
    projects: Projects | None = None,
) -> tuple[Observed, Watcher] | Unusable:
    """Run a file, as a check does, before the eyes of the watcher that is made for it. Why the text is no program.

    `projects` has what is known of other files.
    """
    path, projects = os.path.abspath(filename) if os.path.isfile(filename) else "", projects or Projects()
    files = projects.files(config)
    unit = files.own(path, text)
    if isinstance(unit, Unusable):
        return unit
    eyes = watcher(unit, Places(unit.module))
    with stating(projects.release(config)):
        ran = interpret(unit.module, text.count("\n") + 1, path, files, detectors, eyes)
    return Observed(unit, ran), eyes


def environment_of(config: Config | None) -> Config:
    """Return what counts of a configuration for one who looks on: where the program is, and what is installed."""
    return Config() if config is None else Config(root=config.root, environment=config.environment, torch=config.torch)
