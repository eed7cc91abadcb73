"""The parameters of a run by module: what the table and the page show of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from statistics import median

from gradlint.domain.run import Run, Series


@dataclass(frozen=True)
class Module:
    """The parameters of a module together: norms over all of them, by iteration; None where none got a gradient."""

    name: str
    layer: str
    elements: int
    gradients: tuple[float | None, ...]
    updates: tuple[float | None, ...]
    zeros: float | None
    units: int | None
    dead: int | None
    inactive: int | None

    @property
    def gradient(self) -> float | None:
        """Return the median norm of the gradient; NaN or infinity if there is any."""
        return middle(self.gradients)

    @property
    def update(self) -> float | None:
        """Return the median of the update to weight ratio; likewise."""
        return middle(self.updates)

    @property
    def concern(self) -> tuple[bool, bool, float, float]:
        """Return by what modules are ordered when not all are shown: the greatest first."""
        gradient = self.gradient
        share = self.dead / self.units if self.units and self.dead else 0.0
        is_bad = gradient is not None and not math.isfinite(gradient)
        return is_bad, gradient is None or not gradient, share, self.zeros or 0.0


def middle(values: Iterable[float | None]) -> float | None:
    """Return the median of what is there; what is not finite stands for all."""
    there = [one for one in values if one is not None]
    bad = next((one for one in there if not math.isfinite(one)), None)
    return bad if bad is not None else median(there) if there else None


def modules(run: Run) -> list[Module]:
    """Return the modules of a run, in the order of its parameters."""
    found: dict[tuple[str, str], list[Series]] = {}
    for one in run.parameters:
        found.setdefault((one.module if one.layer else one.name, one.layer), []).append(one)
    return [_module(name, layer, parts) for (name, layer), parts in found.items()]


def _module(name: str, layer: str, parts: Sequence[Series]) -> Module:
    units = [one for one in parts if one.units is not None]
    weighted = [(middle(one.zeros), one.elements) for one in parts]
    zeros = [(share * size, size) for share, size in weighted if share is not None]
    return Module(
        name or layer,
        layer,
        sum(one.elements for one in parts),
        _joined([one.gradients for one in parts]),
        _first([one.updates for one in parts]),
        sum(share for share, _ in zeros) / sum(size for _, size in zeros) if zeros else None,
        sum(one.units or 0 for one in units) if units else None,
        sum(one.dead or 0 for one in units) if units else None,
        next((one.inactive for one in parts if one.inactive is not None), None),
    )


def _joined(columns: Sequence[Sequence[float | None]]) -> tuple[float | None, ...]:
    """Return the norm over several parts, by iteration."""
    rows = ([one for one in row if one is not None] for row in zip(*columns, strict=True))
    return tuple(math.sqrt(sum(one * one for one in row)) if row else None for row in rows)


def _first(columns: Sequence[Sequence[float | None]]) -> tuple[float | None, ...]:
    """Return the ratio of the weight, which comes first: a bias that begins at zero says little."""
    return tuple(next((one for one in row if one is not None), None) for row in zip(*columns, strict=True))
