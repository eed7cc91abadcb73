"""From what was seen to findings: the syntax nodes of places, the rules, suppressions and configuration."""

from __future__ import annotations

import ast
import linecache
import os
import re
import traceback
from collections.abc import Iterable, Iterator
from dataclasses import fields, replace
from pathlib import Path

import libcst as cst

from gradlint.check import check_paths
from gradlint.checker import Checker
from gradlint.concrete.places import Place, Spot
from gradlint.concrete.places import Places as Tracks
from gradlint.concrete.seen import Seen, carried_by
from gradlint.concrete.training import USELESS
from gradlint.concrete.written import nodes_of
from gradlint.domain.event import Event
from gradlint.domain.fault import backward, modules, numerics, optimizers, training_loop
from gradlint.domain.fault.lost_gradient import LostLeaf, ParameterNeverReached
from gradlint.domain.finding import Finding, Position, Span
from gradlint.domain.frozen import Frozen
from gradlint.judgement import Verdict, findings_of, judge, shown
from gradlint.outcome import Checked, Outcome
from gradlint.rules.registry import all_rules
from gradlint.settings.nearest import Configs
from gradlint.settings.silencing import Silencing
from gradlint.source.files import Unit
from gradlint.source.lower.syntax import parts
from gradlint.source.parse import parse
from gradlint.source.place import Places
from gradlint.source.read import Unusable, split_lines


class Sources:
    """The files in which places stand, as Python has read them."""

    def __init__(self) -> None:
        self._units: dict[str, Unit | None] = {}

    def unit(self, filename: str) -> Unit | None:
        """Return a file, parsed; None if it cannot be."""
        if filename not in self._units:
            text = "".join(linecache.getlines(filename))
            module = parse(text) if text else None
            usable = module is not None and not isinstance(module, Unusable)
            self._units[filename] = Unit(filename, text, module) if usable else None  # type: ignore[arg-type]
        return self._units[filename]

    @property
    def units(self) -> list[Unit]:
        """Return the files that were asked for."""
        return [unit for unit in self._units.values() if unit is not None]

    def node(self, place: Place | Spot, *, statement: bool = False) -> cst.CSTNode | None:
        """Return the syntax node at a place: the expression, or the `statement` around it."""
        unit = self.unit(place.filename)
        if unit is None:
            return None
        found = list(_around(unit.module.body, _span(place, split_lines(unit.text)), _places(unit)))
        if not found:
            return None
        if statement or None in place.range:
            small = [one for one in found if isinstance(one, (cst.BaseSmallStatement, cst.BaseCompoundStatement))]
            return small[-1] if small else found[-1]
        return found[-1]


def _span(place: Place | Spot, rows: list[str]) -> Span:
    """Return where a place stands; only its row is known where start and end are the same."""
    row, end, start, stop = place.range
    if end is None or start is None or stop is None or not 0 < end <= len(rows):
        text = rows[row - 1] if 0 < row <= len(rows) else ""
        at = Position(row, len(text) - len(text.lstrip()) + 1)
        return Span(at, at)
    return Span(Position(row, _column(rows[row - 1], start)), Position(end, _column(rows[end - 1], stop)))


def _column(row: str, offset: int) -> int:
    """Return the column of an offset in bytes."""
    return len(row.encode()[:offset].decode(errors="ignore")) + 1


def _around(nodes: Iterable[cst.CSTNode], span: Span, places: Places) -> Iterator[cst.CSTNode]:
    """Yield the nodes that hold a span, from the outside in."""
    for node in nodes:
        whole = places.whole(node)
        if whole.start <= span.start and span.end <= whole.end:
            yield node
            yield from _around(parts(node), span, places)
            return


def _event(seen: Seen, sources: Sources) -> Event | None:
    """Return the event at its syntax nodes."""
    node = sources.node(seen.place, statement="index assignment" in seen.fields.values())
    if node is None:
        return None
    given: dict[str, object] = {}
    for name, value in seen.fields.items():
        given[name] = sources.node(value) if isinstance(value, (Place, Spot)) else value
        required = any(one.name == name and str(one.type) == "cst.CSTNode" for one in fields(seen.kind))
        if given[name] is None and required:
            return None
    return seen.kind(node, **given)  # type: ignore[arg-type]


class Judged(Frozen):
    """The findings, and how many things were seen for which there is no place in a source or no rule."""

    outcome: Outcome
    unplaced: tuple[Seen, ...] = ()


_ABSENT = frozenset(
    one.__name__
    for one in (
        *USELESS,
        training_loop.StepMissing,
        training_loop.EvalKeepsGraph,
        backward.GraphRetained,
        ParameterNeverReached,
        LostLeaf,
        modules.ModuleInContainer,
        modules.ParameterInContainer,
        modules.ParameterMoved,
        modules.TensorNotParameter,
        optimizers.ConstantsInOptimizer,
        optimizers.NetworkForgotten,
        optimizers.ParameterTooLate,
        numerics.NonfiniteValue,
        numerics.NonfiniteGradient,
        numerics.ZeroGradient,
    )
)
"""The faults of what did not happen, or not before, which is said of the iterations that were watched."""


def judged(
    seen: Iterable[Seen], configs: Configs, error: BaseException | None = None, *, scope: str | None = None
) -> Judged:
    """Let the rules judge what was seen, each file by its configuration and its comments.

    An `error` that ended the program, of which nothing was seen, is looked for in what a check of its file finds.
    `scope` says in words how much was watched, where that was not all.
    """
    sources, rules, checker = Sources(), all_rules(), Checker()
    said: dict[str, list[Verdict]] = {}
    unplaced: list[Seen] = []
    for one in {one.key: one for one in seen}.values():
        event = _event(one, sources)
        verdicts = [] if event is None else judge([event], rules)
        if not verdicts:
            unplaced.append(one)
        for verdict in verdicts:
            home = next(unit for unit in sources.units if verdict.report.node in _places(unit))
            said.setdefault(home.file, []).append(verdict)
    files = [_checked(file, verdicts, sources, configs, checker) for file, verdicts in sorted(said.items())]
    if scope is not None:
        files = [replace(file, findings=tuple(_within(one, scope) for one in file.findings)) for file in files]
    if error is not None and not carried_by(error):
        files += _explained(error, configs, checker)
    return Judged(Outcome(tuple(files)), tuple(unplaced))


def _within(finding: Finding, scope: str) -> Finding:
    """Return a finding that says of which part of the run it is true, where it says that something did not happen."""
    if finding.effect == "raises" or finding.evidence is None or finding.evidence.fault not in _ABSENT:
        return finding
    return replace(finding, message=f"{scope}, {finding.message}")


def _explained(error: BaseException, configs: Configs, checker: Checker) -> Iterator[Checked]:
    """Yield what a check of the file finds that says that torch raises this, where it was raised."""
    own, place = Tracks(), None
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if own.is_own(frame.f_code.co_filename):
            place = frame.f_code.co_filename
    rows = {row for frame, row in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == place}
    if place is None or not os.path.isfile(place):
        return
    rows |= set(_rows_of_functions(place, str(error), rows))
    errors = {rule.code: rule.error for rule in all_rules()}
    name = shown(place)
    for checked in check_paths([name], configs=configs, checker=checker).files:
        found = tuple(one for one in checked.findings if _explains(one, str(error), rows, errors.get(one.code)))
        if found:
            yield replace(checked, findings=found)


def _rows_of_functions(file: str, said: str, rows: set[int]) -> Iterator[int]:
    """Yield the rows of custom functions whose names torch says, or that are applied at one of the rows."""
    applied = " ".join(linecache.getline(file, row) for row in rows)
    for node in nodes_of(file):
        if isinstance(node, ast.ClassDef) and re.search(
            rf"\b{node.name}(Backward\b|\.backward\b|\.apply\b)", f"{said} {applied}"
        ):
            yield from range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _explains(finding: Finding, said: str, rows: set[int], pattern: str | None) -> bool:
    """Return whether this error, at one of the rows, is one that confirms a finding."""
    spans = (finding.span, *(one.span for one in finding.related if one.filename is None))
    here = any(span.start.row <= row <= span.end.row for span in spans for row in rows)
    return here and bool(pattern and re.search(pattern, said))


def _places(unit: Unit) -> Places:
    if not isinstance(unit.ranges, Places):
        unit.ranges = Places(unit.module)
    return unit.ranges


def _checked(file: str, verdicts: list[Verdict], sources: Sources, configs: Configs, checker: Checker) -> Checked:
    unit = sources.unit(file)
    assert unit is not None, "a verdict stands in a file that was read"
    name, config = shown(file), configs.of(Path(file).absolute().parent)
    others = [one for one in sources.units if one is not unit]
    found: tuple[Finding, ...] = findings_of(verdicts, (), unit.module, unit.text, name, others)
    rules = checker.rules_for(config, name)
    codes = {rule.code for rule in rules}
    kept = tuple(finding for finding in found if finding.code in codes)
    kept, silenced = Silencing(all_rules(), rules, False).apply(kept, unit.text, name, config)
    own = {finding.code for finding in found}
    kept = tuple(finding for finding in kept if finding.code in own)
    return Checked(name, config.graded(kept), unit.text, silenced, interpreted=True)
