"""What confirms a finding: the text of torch's error, a measure, or nothing, and why."""

from __future__ import annotations

import re
from collections.abc import Mapping

from gradlint.confirm.effects.table import MEASURES, measure_of
from gradlint.domain.finding import Finding

NOTHING_TO_RUN = {
    "invalid": "the file or the configuration cannot be used, so there is nothing to run",
    "legacy": "the old spelling does what the new one does, so a run shows nothing",
}
"""By the effect."""

_LOCAL = frozenset(
    (
        *("removed-api", "misspelt-name", "dtype-mismatch", "inplace-broadcast", "gradient-shape", "loss-broadcast"),
        *("integer-requires-grad", "backward-nonscalar", "activation-loss-mismatch", "closure-missing"),
    )
)
_COMMENTS = {"unused-suppression": "a comment is nothing that runs"}
_NAMES = frozenset({"MisspeltName", "RemovedName", "RemovedArgument", "FunctionWithoutApply"})
"""Faults of a `name` that is not there."""


def obstacle(name: str, effect: str) -> str | None:
    """Why no run can show what the findings of a rule say; None where one can."""
    return _COMMENTS.get(name) or NOTHING_TO_RUN.get(effect)


def pattern_of(finding: Finding, patterns: Mapping[str, str]) -> str | None:
    """Return the pattern of torch's message: that of the rule, or the name that is missing; None if none is known."""
    found = [patterns[finding.code]] if finding.code in patterns else []
    name = _absent(finding)
    if name:
        found.append(f"unexpected keyword argument '{name}'" if _is_argument(finding) else f"has no attribute '{name}'")
    return "|".join(f"(?:{one})" for one in found) or None


def slips_of(finding: Finding) -> tuple[str, ...]:
    """Return the names that a finding says nothing has."""
    name = _absent(finding)
    return (name,) if name and finding.name == "misspelt-name" and not _is_argument(finding) else ()


def _absent(finding: Finding) -> str:
    """Return the name that is read and not there, without what it is a name of; empty where the fault is another."""
    found = finding.evidence
    if found is None or found.fault not in _NAMES or found.fact("assigned") is True:
        return ""
    return str(found.fact("name")).rpartition(".")[2]


def _is_argument(finding: Finding) -> bool:
    """Return whether the name that is not there is one of an argument."""
    found = finding.evidence
    return found is not None and (found.fault == "RemovedArgument" or found.fact("keyword") is True)


def is_local(finding: Finding) -> bool:
    """Return whether a fault shows in the values that a statement is given, whatever else is done to them before."""
    return finding.name in _LOCAL


def is_known(finding: Finding, patterns: Mapping[str, str]) -> bool:
    """Return whether anything would confirm a finding."""
    return measure_of(finding) is not None or pattern_of(finding, patterns) is not None


def evidence(name: str, effect: str, errors: tuple[str, ...]) -> str:
    """Return what confirms the findings of a rule, in words; `errors` are patterns of torch's messages."""
    words = []
    if name in MEASURES:
        words.append(f"measured: {MEASURES[name].said}")
    if errors:
        texts = ", ".join(f'"{_plain(error)}"' for error in dict.fromkeys(errors))
        words.append(f"torch raises {texts}")
    return "; or ".join(words) or f"by nothing: {obstacle(name, effect)}"


def _plain(pattern: str) -> str:
    """Return a pattern as the text that it stands for."""
    return re.sub(r"\\(\W)", r"\1", pattern).replace(".*", "...")
