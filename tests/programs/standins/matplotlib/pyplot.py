"""Accepts what the programs plot, and looks at its values as the real one does."""

from __future__ import annotations

from typing import Any

import numpy as np


class _Axes:
    def plot(self, *values: Any, **_: Any) -> None:
        for value in values:
            if not isinstance(value, str | list):
                np.asarray(value)

    scatter = plot


_AXES = _Axes()
plot = scatter = _AXES.plot


def subplots(rows: int = 1, columns: int = 1) -> tuple[None, list[_Axes]]:
    return None, [_Axes() for _ in range(rows * columns)]


def figure() -> None:
    """Nothing is drawn."""


def title(_: str) -> None:
    """Nothing is drawn."""


def savefig(_: str) -> None:
    """Nothing is drawn."""
