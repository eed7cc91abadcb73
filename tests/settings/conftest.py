"""The command line over the fake world, for tests of settings."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from tests.entrypoints.conftest import Ran, fake_world, run, tree

__all__ = ["fake_world", "run", "tree"]

Tree: TypeAlias = Callable[[Mapping[str, "str | bytes"]], Path]


def codes(ran: Ran) -> list[str]:
    """The codes of the findings, in order."""
    return [line.split()[2] for line in ran.out]
