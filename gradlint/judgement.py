"""Rules judge events; what they say about syntax nodes becomes findings at places."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import libcst as cst

from gradlint.domain.event import Event
from gradlint.domain.finding import SEVERITY_OF, Finding, Related, Span
from gradlint.fixes.locate import Locator
from gradlint.rules.base import Report, Rule
from gradlint.source.place import Places
from gradlint.source.unusable import Unusable


def judge(events: Iterable[Event], rules: Sequence[Rule]) -> list[tuple[Rule, Report]]:
    """All that the rules have to say about the events."""
    listeners: dict[type[Event], list[Rule]] = {}
    said: list[tuple[Rule, Report]] = []
    for event in events:
        kind = type(event)
        if kind not in listeners:
            listeners[kind] = [rule for rule in rules if issubclass(kind, rule.events)]
        said.extend((rule, report) for rule in listeners[kind] for report in rule.check(event))
    return said


def findings_of(said: Iterable[tuple[Rule, Report]], module: cst.Module, filename: str) -> tuple[Finding, ...]:
    """The findings in order, one for each code and place: several paths may lead to the same fault."""
    found: dict[tuple[str, Span], Finding] = {}
    places = Places(module)
    locator = Locator(module, places)
    for rule, report in said:
        place = rule.code, places.span(report.node)
        if place not in found:
            found[place] = _finding(rule, report, places, locator, filename)
    return tuple(sorted(found.values(), key=lambda finding: finding.sort_key))


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


def _finding(rule: Rule, report: Report, places: Places, locator: Locator, filename: str) -> Finding:
    span = places.span(report.node)
    effect = report.effect or rule.effect
    return Finding(
        code=rule.code,
        name=rule.name,
        message=report.message,
        severity=report.severity or (rule.severity if effect == rule.effect else SEVERITY_OF[effect]),
        effect=effect,
        filename=filename,
        span=span,
        lines=places.rows(span),
        hint=report.hint,
        related=tuple(Related(places.span(node), message) for node, message in report.related),
        fix=None if report.repair is None else locator.fix(report.repair),
    )
