"""What confirms a finding: the text of torch's error, a measure, or nothing, and why."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from gradlint.confirm.effects import around, kept, missing, modules, training, wrong
from gradlint.confirm.effects.measure import Measure
from gradlint.confirm.run.protocol import NOT_DECIDED, Ran
from gradlint.domain.finding import Finding

NOTHING_TO_RUN = {
    "invalid": "the file or the configuration cannot be used, so there is nothing to run",
    "legacy": "the old spelling does what the new one does, so a run shows nothing",
}
"""By the effect."""

_LOCAL = {
    *("removed-api", "misspelt-name", "dtype-mismatch", "inplace-broadcast", "gradient-shape", "loss-broadcast"),
    *("integer-requires-grad", "backward-nonscalar", "activation-loss-mismatch", "closure-missing"),
}
_NOTHING = {
    **dict.fromkeys(("unused-suppression", "wrong-suppression"), "a comment is nothing that runs"),
    **dict.fromkeys(
        ("not-finite", "zero-gradient", "step-without-effect"), "a run of the program has shown it already"
    ),
    "gradient-wrong": "a run shows the gradient that is returned, and not which one is meant",
}
_NAMES = frozenset({"MisspeltName", "RemovedName", "RemovedArgument", "FunctionWithoutApply"})
"""Faults of a `name` that is not there."""


def obstacle(name: str, effect: str) -> str | None:
    """Return why no run can show what the findings of a rule say; None where one can."""
    return _NOTHING.get(name) or NOTHING_TO_RUN.get(effect)


def other_torch(finding: Finding) -> str | None:
    """Return why no run can show what a finding says of the project's release of torch; None where it is of any."""
    found = finding.evidence
    if found is None or found.fault != "AbsentName":
        return None
    return "it is about the torch of the project, and runs are made with the one that is installed beside gradlint"


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
        texts = [f'"{_plain(error)}"' for error in dict.fromkeys(errors)]
        more = f", and {len(texts) - _SHOWN} more" if len(texts) > _SHOWN else ""
        words.append(f"torch raises {', '.join(texts[:_SHOWN])}{more}")
    return "; or ".join(words) or f"by nothing: {obstacle(name, effect)}"


_SHOWN = 12
"""How many texts of errors are named."""


def _plain(pattern: str) -> str:
    """Return a pattern as the text that it stands for."""
    return re.sub(r"\\(\W)", r"\1", pattern).replace(".*", "...")


# Errors that torch raises and that no plain Python expression can be made to raise with a text of choice.
_TORCH_RAISES = {
    *("RuntimeError", "TypeError", "ValueError", "AttributeError", "NotImplementedError", "IndexError"),
    *("AssertionError", "OutOfMemoryError", "LinAlgError"),
}
# A single word in quotes is the name of a type, and proves as much as the rest of the text.
_QUOTED = re.compile(r"'[^']*\s[^']*'|\"[^\"]*\s[^\"]*\"")
_WHY_NOTHING = {
    "timeout": "the repro takes too long",
    "memory": "the repro needs too much memory",
    "denied": "the repro does what the sandbox forbids",
    "crashed": "the process of the repro died",
}


def doubt(ran: Ran, pattern: str | None, line: int | None = None) -> str | None:
    """Return why a run does not show an error of torch's own with a text like the pattern; None where it does.

    `line` is the innermost line of the repro on the way of the error.
    """
    said = (ran.message or "").strip().split("\n")[0][:200]
    if ran.outcome == "finished":
        return "it ran through: torch raised nothing"
    if said.startswith(NOT_DECIDED):
        return said
    if ran.outcome in _WHY_NOTHING:
        return f"{_WHY_NOTHING[ran.outcome]}: {said}"
    if ran.forced or ran.error_type not in _TORCH_RAISES:
        return f"the repro raises {ran.error_type} by itself: {said}"
    if line is not None and ran.line != line:
        return f"the repro raises elsewhere, in line {ran.line}: {said}"
    if pattern is not None and not _says(ran, pattern):
        return f"torch raises something else: {said}"
    return None


def _says(ran: Ran, pattern: str) -> bool:
    """Return whether the message holds the pattern, and not only in something of the repro that it quotes.

    `int("a text")` and `{}["a text"]` raise errors with any text one likes, but quote it.
    """
    message = ran.message or ""
    quoted = [] if ran.error_type == "RuntimeError" else [match.span() for match in _QUOTED.finditer(message)]
    return any(
        not any(start <= found.start() and found.end() <= end for start, end in quoted)
        for found in re.finditer(pattern, message)
    )


def _joined(families: Iterable[Mapping[str, Measure]]) -> dict[str, Measure]:
    """Return all of them; no rule stands in two files."""
    found: dict[str, Measure] = {}
    for family in families:
        assert found.keys().isdisjoint(family), f"measured twice: {found.keys() & family.keys()}"
        found.update(family)
    return found


MEASURES = _joined(one.RULES for one in (missing, wrong, kept, training, around, modules))
"""By the name of the rule whose findings claim the effect."""


def measure_of(finding: Finding) -> Measure | None:
    """Return how to measure what a finding claims; None for an error, and where there is no measure."""
    if finding.effect == "raises":
        return None
    if finding.name == "activation-loss-mismatch":
        return None if finding.evidence is None else wrong.GETS.get(str(finding.evidence.fact("kind")))
    fault = None if finding.evidence is None else finding.evidence.fault
    return training.FAULTS.get(fault or "") or MEASURES.get(finding.name)
