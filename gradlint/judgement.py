"""Rules judge events; what they say about syntax nodes becomes findings at places."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Final, NamedTuple, TypeAlias, TypeGuard, TypeVar

import libcst as cst

from gradlint.domain.assumption import Assumption
from gradlint.domain.clock import OutOfTimeError, look_at_clock
from gradlint.domain.event import Event
from gradlint.domain.finding import SEVERITY_OF, Assumed, Effect, Evidence, Fact, Finding, Fix, Related, Severity, Span
from gradlint.fixes.locate import Locator
from gradlint.plugins.guard import guarded
from gradlint.rules.base import Report, Rule
from gradlint.source.files import Unit
from gradlint.source.place import Places

_Result = TypeVar("_Result")


class Verdict(NamedTuple):
    """What a rule says of an event."""

    rule: Rule
    report: Report
    event: Event


def judge(events: Iterable[Event], rules: Sequence[Rule]) -> list[Verdict]:
    """All that the rules have to say about the events."""
    listeners: dict[type[Event], list[Rule]] = {}
    said: list[Verdict] = []
    for event in events:
        kind = type(event)
        if kind not in listeners:
            listeners[kind] = [rule for rule in rules if issubclass(kind, rule.events)]
        reports = ((rule, _asked(rule, event)) for rule in listeners[kind])
        verdicts = (Verdict(rule, report, event) for rule, report in reports if report is not None)
        said.extend(one for one in verdicts if not (event.caught and _raises(one)))
    return said


def _raises(verdict: Verdict) -> bool:
    return (verdict.report.effect or verdict.rule.effect) == "raises"


def _asked(rule: Rule, event: Event) -> Report | None:
    """What a rule says of an event; what one of a plugin raises, or says wrong, is the plugin's mistake."""
    return rule.judge(event) if not rule.plugin else _guarded(rule, lambda: _well_formed(rule.judge(event)))


def _guarded(rule: Rule, act: Callable[[], _Result]) -> _Result | None:
    return guarded(f"rule {rule.code} of {rule.plugin}", act, (OutOfTimeError,))


def _well_formed(report: Report | None) -> Report | None:
    if report is None:
        return None
    if not isinstance(report, Report) or not isinstance(report.message, str):
        raise TypeError(f"a rule returns a Report with a message, or None, and no {report!r}")
    return report


Entrances: TypeAlias = "Mapping[cst.CSTNode, Collection[cst.CSTNode]]"
"""The calls from outside that led to each function of an installed package, and to those of other files."""


class Atlas:
    """The file that is checked and those its run led through: which of them a node stands in, and where there."""

    def __init__(self, module: cst.Module, units: Sequence[Unit] = (), entrances: Entrances | None = None) -> None:
        self.home = Places(module)
        self._units = sorted(units, key=lambda unit: unit.installed)
        self._entrances = entrances or {}
        self.installed = frozenset(unit.file for unit in units if unit.installed)

    def entrance(self, node: cst.CSTNode) -> cst.CSTNode | None:
        """The only call from outside that led to a node of an installed file; None if there are several."""
        calls = self._calls(node)
        return calls.pop() if len(calls) == 1 else None

    def calls_into(self, node: cst.CSTNode) -> list[cst.CSTNode]:
        """The calls of the file that is checked which led to a node of another one, in order."""
        return sorted((one for one in self._calls(node) if one in self.home), key=self.home.span)

    def _calls(self, node: cst.CSTNode) -> set[cst.CSTNode]:
        places = self.sheet(node)[1]
        function = places.function_around(node)
        inside = [one for one in self._entrances if (one is function if function else one in places)]
        return {call for one in inside for call in self._entrances[one]}

    def sheet(self, node: cst.CSTNode) -> tuple[str | None, Places]:
        """The path of another file, or None for the one that is checked, and the places of its nodes."""
        if not self._units or node in self.home:
            return None, self.home
        for unit in self._units:
            if not isinstance(unit.ranges, Places):
                unit.ranges = Places(unit.module, unit.rows)
            if node in unit.ranges:
                return unit.file, unit.ranges
        raise AssertionError(f"this {type(node).__name__} stands in none of the files that were read")


def findings_of(
    said: Iterable[Verdict],
    missing: Iterable[Verdict],
    module: cst.Module,
    text: str,
    filename: str,
    units: Sequence[Unit] = (),
    entrances: Entrances | None = None,
) -> tuple[Finding, ...]:
    """The findings in order, one for each code and place: several paths may lead to the same fault.

    `text` is that of the module.

    Those about nodes of another file bear its path as their filename, and no fix; those in an installed file move
    to the call that led there. What is `missing` in another file is so for the calls that lead there from this one.
    """
    found: dict[tuple[str, str, Span], Finding] = {}
    atlas = Atlas(module, units, entrances)
    locator = Locator(module, atlas.home, text)
    left = filter(None, (_left_undone(verdict, atlas) for verdict in missing))
    for verdict in (*said, *left):
        look_at_clock()
        add = partial(_add, found, verdict, atlas, locator, filename)
        if verdict.rule.plugin:
            _guarded(verdict.rule, add)
        else:
            add()
    return tuple(sorted(found.values(), key=lambda finding: finding.sort_key))


def _left_undone(verdict: Verdict, atlas: Atlas) -> Verdict | None:
    """Return what does not happen in this file; of another one what its callers may do, with the first call there."""
    rule, report, event = verdict
    path, _ = atlas.sheet(report.node)
    if path is None:
        return verdict
    calls = atlas.calls_into(report.node) if event.left_to_callers and path not in atlas.installed else ()
    if (report.severity or rule.severity) == "error":
        report = replace(report, severity="warning")
    return Verdict(rule, report, replace(event, caller=calls[0])) if calls else None


def _add(
    found: dict[tuple[str, str, Span], Finding], verdict: Verdict, atlas: Atlas, locator: Locator, filename: str
) -> None:
    """Add the finding, if it is one of these files', and none of its code stands at its place, or only a warning."""
    path, places = atlas.sheet(verdict.report.node)
    if path in atlas.installed:
        moved = _outside(verdict, atlas)
        if moved is None:
            return
        verdict, (path, places) = moved, atlas.sheet(moved.report.node)
    place = path or filename, verdict.rule.code, places.span(verdict.report.node)
    former = found.get(place)
    if former is None or former.severity == "warning":
        finding = _finding(verdict, atlas, locator, filename)
        if former is None or finding.severity == "error":
            found[place] = finding


def _outside(verdict: Verdict, atlas: Atlas) -> Verdict | None:
    """The same at the call that led into an installed package, or else at the first related place outside it.

    None for what is the package's own business: what its code meets, and what it cuts off without an error.
    """
    rule, report, event = verdict
    related = [node for node, _ in report.related if node and atlas.sheet(node)[0] not in atlas.installed]
    node = atlas.entrance(report.node) or next(iter(related), None)
    concerns = event.concerns_callers or _raises(verdict)
    if node is None or event.installed or not concerns:
        return None
    others = ((report.node, "it happens here"), *(one for one in report.related if one[0] is not node))
    message = f"in an installed package: {report.message}"
    return Verdict(rule, replace(report, node=node, message=message, hint=None, related=others, repair=None), event)


def assumed(assumptions: Iterable[Assumption], atlas: Atlas, path: str | None, filename: str) -> tuple[Assumed, ...]:
    """What was assumed, with its places, as seen from the file `path`, or from the one that is checked."""
    return tuple(
        Assumed(one.kind, one.text, _related(atlas, path, filename, one.node, one.text)) for one in assumptions
    )


def _finding(verdict: Verdict, atlas: Atlas, locator: Locator, filename: str) -> Finding:
    rule, report, event = verdict
    path, places = atlas.sheet(report.node)
    span = places.span(report.node)
    effect = report.effect or rule.effect
    related = report.related if path is None else (*report.related, (event.caller, "called from here"))
    return Finding(
        code=rule.code,
        name=rule.name,
        message=report.message,
        severity=_severity(verdict, effect),
        effect=effect,
        filename=filename if path is None else path,
        span=span,
        lines=places.rows(span),
        hint=report.hint,
        related=tuple(_related(atlas, path, filename, node, message) for node, message in related if _is_place(node)),
        fix=None if path is not None else _fix(verdict, atlas, locator),
        assumptions=assumed(event.assumptions, atlas, path, filename),
        evidence=_evidence(event, atlas, path, filename),
    )


def _severity(verdict: Verdict, effect: Effect) -> Severity:
    """How much a finding weighs: an error rests on no assumption, and a warning on few."""
    rule = verdict.rule
    severity = verdict.report.severity or (rule.severity if effect == rule.effect else SEVERITY_OF[effect])
    grounds = {one.ground for one in verdict.event.assumptions}
    if len(grounds) > MOST_ASSUMPTIONS:
        return "info"
    return "warning" if severity == "error" and grounds else severity


MOST_ASSUMPTIONS: Final = 15
"""A warning rests on so many different grounds at most.

Of 21 findings in real code that rested on more sentences, 7 were right; of the 5 to which fewer grounds are left since
those alike count once, 4 were.
"""


def _evidence(event: Event, atlas: Atlas, path: str | None, filename: str) -> Evidence:
    """The data of an event: its fields by name, with syntax nodes as places."""
    facts: list[Fact] = []
    places: list[tuple[str, Related]] = []
    for name in _data(event):
        value = getattr(event, name)
        if isinstance(value, (str, int, float)):
            facts.append((name, value))
        else:
            nodes = value if isinstance(value, tuple) else (value,)
            places += [(name, _related(atlas, path, filename, node, "")) for node in nodes if _is_place(node)]
    return Evidence(type(event).__name__, tuple(facts), tuple(places))


_NO_DATA = ("node", "assumptions", "caller", "caught")


_DATA: dict[type[Event], tuple[str, ...]] = {}


def _data(event: Event) -> tuple[str, ...]:
    """Return the names of the fields of an event that are its data."""
    kind = type(event)
    if kind not in _DATA:
        _DATA[kind] = tuple(one.name for one in fields(event) if one.name not in _NO_DATA)
    return _DATA[kind]


def _is_place(node: object) -> TypeGuard[cst.CSTNode]:
    """Return whether this is a place in a text, rather than nothing, or the text as a whole."""
    return node is not None and isinstance(node, cst.CSTNode) and not isinstance(node, cst.Module)


def _related(atlas: Atlas, path: str | None, filename: str, node: cst.CSTNode, message: str) -> Related:
    """Another place, with its file where that is not the finding's own."""
    other, places = atlas.sheet(node)
    return Related(places.span(node), message, None if other == path else shown(other) if other else filename)


def shown(path: str) -> str:
    """A path as people name it: from where they stand, if it is below."""
    try:
        short = os.path.relpath(path)
    except ValueError:  # On another drive of Windows there is no way to it.
        return path
    return path if short.startswith(os.pardir) else short


def _fix(verdict: Verdict, atlas: Atlas, locator: Locator) -> Fix | None:
    """The fix, if all that it changes stands in the file that is checked: a safe one rests on no assumption."""
    repair = verdict.report.repair
    if repair is None or not all(change.node in atlas.home for change in repair.changes):
        return None
    return locator.fix(replace(repair, safe=False) if repair.safe and verdict.event.assumptions else repair)
