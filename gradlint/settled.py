"""Findings beside findings: those that others prove or rule out, and the one that a file cannot be judged at all.

Nothing here looks at a program, so that a run to which nothing is new need not load what does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gradlint.domain.finding import Finding, Span
from gradlint.rules.base import Rule
from gradlint.source.read import Unusable


def grounded(found: Iterable[Finding], proven: Iterable[Finding]) -> tuple[Finding, ...]:
    """The findings, of which those that are proven without assumptions, too, rest on none."""
    certain = {(one.filename, one.code, one.span): one for one in proven if not one.assumptions}
    return tuple(
        replace(one, assumptions=(), severity=known.severity, fix=known.fix)
        if one.assumptions and (known := certain.get((one.filename, one.code, one.span))) is not None
        else one
        for one in found
    )


def is_settled(finding: Finding, others: Sequence[Finding]) -> bool:
    """Return whether a caller in another file proves a finding: who calls the function was left open, or assumed."""
    proofs = [one for one in others if finding.repeats(one)]
    return bool(uncalled(finding) and proofs) or any(len(finding.assumptions) > len(one.assumptions) for one in proofs)


def uncalled(finding: Finding) -> object:
    """Return the function of a finding that nobody in sight calls; empty if it is called."""
    return (finding.evidence and finding.evidence.fact("uncalled")) or ""


def finding_about(unusable: Unusable, rule: Rule, filename: str) -> Finding:
    """The finding that a file cannot be judged at all."""
    at = unusable.position
    return Finding(
        code=rule.code,
        name=rule.name,
        message=unusable.message,
        severity=rule.severity,
        effect=rule.effect,
        filename=filename,
        span=Span(at, at),
        lines=(at.row, at.row),
    )
