"""The measures by rule, and which one a finding asks for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gradlint.confirm.effects import functions, kept, missing, modules, training, wrong
from gradlint.confirm.effects.measure import Measure
from gradlint.domain.finding import Finding


def _joined(families: Iterable[Mapping[str, Measure]]) -> dict[str, Measure]:
    """Return all of them; no rule stands in two files."""
    found: dict[str, Measure] = {}
    for family in families:
        assert found.keys().isdisjoint(family), f"measured twice: {found.keys() & family.keys()}"
        found.update(family)
    return found


MEASURES = _joined(one.RULES for one in (missing, wrong, kept, training, modules, functions))
"""By the name of the rule whose findings claim the effect."""


def measure_of(finding: Finding) -> Measure | None:
    """Return how to measure what a finding claims; None for an error, and where there is no measure."""
    if finding.effect == "raises":
        return None
    if finding.name == "activation-loss-mismatch":
        return None if finding.evidence is None else wrong.GETS.get(str(finding.evidence.fact("kind")))
    fault = None if finding.evidence is None else finding.evidence.fault
    return training.FAULTS.get(fault or "") or MEASURES.get(finding.name)
