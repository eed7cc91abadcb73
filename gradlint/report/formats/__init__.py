"""The formats of `gradlint check`: each stands in the module of its name, and is loaded when it is asked for.

A module has one function `write(report)`, which yields the text, without the line end after each piece. A format that
must not be empty where there are no findings says so itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from typing import TypeAlias, cast

from gradlint.report.report import Report

Writer: TypeAlias = Callable[[Report], Iterable[str]]


def writer(name: str) -> Writer:
    """Return what writes the format of this name, one of `gradlint.settings.keys.FORMATS`."""
    return cast("Writer", importlib.import_module(f"{__name__}.{name.replace('-', '_')}").write)
