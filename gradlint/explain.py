"""Explain a line: what is believed of each value on it, and why nothing, or something, is found there."""

from __future__ import annotations

from collections import Counter
from dataclasses import field
from functools import cache

import libcst as cst

from gradlint.check import check_content
from gradlint.domain.finding import Assumed, Finding, Position, Span
from gradlint.domain.frozen import Frozen
from gradlint.interpreter.explaining import Explaining, Seen
from gradlint.judgement import Atlas, assumed
from gradlint.observing import environment_of, observe
from gradlint.running import no_collection, with_deep_stack
from gradlint.settings.config import Config
from gradlint.source.files import Unit
from gradlint.source.place import Places
from gradlint.source.projects import Projects
from gradlint.source.read import Unusable


class Note(Frozen):
    """A place with a text: an operation that made or saved a value, a reason for which one is not known."""

    text: str
    row: int | None = None


class Value(Frozen):
    """What is believed of one expression or variable of a row.

    `paths` are the different beliefs, as several paths and iterations may lead there; `facts` are those of the first.
    `assumptions` are what was taken and is not known of it.
    """

    row: int
    column: int
    name: str
    kind: str
    paths: tuple[str, ...]
    facts: dict[str, object] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()
    assumptions: tuple[Assumed, ...] = ()


class Explanation(Frozen):
    """What is known of some rows of a file.

    `assumptions` were made of the values there, or on the way. `given_up` counts what is not followed there, or
    anywhere where the place is not known; `looked` says which detectors heard of what; `reached` is false where no path
    of the interpreter came by.
    """

    filename: str
    values: tuple[Value, ...]
    assumptions: tuple[Assumed, ...]
    findings: tuple[Finding, ...]
    given_up: tuple[Note, ...]
    looked: tuple[tuple[str, tuple[str, ...]], ...]
    reached: bool


class Sighting(Frozen):
    """A value where it was seen; `grad_fn` is how torch may call the node that it has."""

    span: Span
    value: Value
    grad_fn: tuple[str, ...]


class Sights(Frozen):
    """What was seen in some rows: values, operations by name, and, in all rows, where gradients are asked for."""

    values: tuple[Sighting, ...] = ()
    operations: tuple[tuple[Span, str], ...] = ()
    backwards: tuple[Span, ...] = ()


def look(text: str, filename: str, rows: range, config: Config, projects: Projects) -> Sights | Unusable:
    """Run a file, and say what is seen at some rows: for editors, which have a thread with a deep stack."""
    used = environment_of(config)

    def watcher(_: Unit, places: Places) -> Explaining:
        return Explaining(rows, cache(lambda node: _row(node, places)))

    observed = observe(text, filename, used, watcher, projects)
    if isinstance(observed, Unusable):
        return observed
    (unit, ran), seen = observed
    atlas = Atlas(unit.module, ran.units)
    places = atlas.home
    groups: dict[tuple[Span, str], list[Seen]] = {}
    for one in seen.seen:
        groups.setdefault((places.span(one.node), one.name), []).append(one)
    values = tuple(
        Sighting(span, _value(span.start, name, group, atlas, filename), group[0].grad_fn)
        for (span, name), group in groups.items()
    )
    methods = ((places.span(node), f"Tensor.{name}") for node, name in seen.methods.items())
    paths = ((one.span, str(one.value.facts.get("path"))) for one in values if one.value.kind == "imported")
    backwards = (places.span(node) for node in seen.backwards if node in places)
    return Sights(values, (*methods, *paths), tuple(dict.fromkeys(backwards)))


def explain(
    text: str, filename: str, row: int | None = None, column: int | None = None, config: Config | None = None
) -> Explanation | Unusable:
    """Run a file, and say what is believed at a row, or at every row; `column` picks the expressions that begin there.

    Rows and columns count from 1. Returns why the text is no program, where it is none. Of a configuration only the
    environment and the release of torch count.
    """
    used = environment_of(config)
    with no_collection():
        return with_deep_stack(lambda: _explain(text, filename, row, column, used))


def _explain(text: str, filename: str, row: int | None, column: int | None, config: Config) -> Explanation | Unusable:
    rows = None if row is None else range(row, row + 1)
    observed = observe(
        text, filename, config, lambda _, places: Explaining(rows, cache(lambda node: _row(node, places)))
    )
    if isinstance(observed, Unusable):
        return observed
    (unit, ran), seen = observed
    atlas = Atlas(unit.module, ran.units)
    places = atlas.home
    values = [one for one in _values(seen.seen, atlas, filename) if column is None or one.column == column]
    on_values = (each for one in seen.seen for each in one.assumed)
    taken = assumed(dict.fromkeys((*seen.assumed, *on_values)), atlas, None, filename)
    found = check_content(text, filename, config).findings
    here = tuple(one for one in found if row is None or one.lines[0] <= row <= one.lines[1])
    counted = Counter((what, _row(node, places)) for what, node in seen.given_up)
    given_up = tuple(Note(f"{what} ({n} times)" if n > 1 else what, at) for (what, at), n in counted.items())
    looked = tuple((what, tuple(sorted(who))) for what, who in sorted(seen.looked.items()))
    return Explanation(filename, tuple(values), taken, here, given_up, looked, bool(seen.seen))


def _values(seen: list[Seen], atlas: Atlas, filename: str) -> list[Value]:
    """What was seen by place and name, with the beliefs of all paths together."""
    groups: dict[tuple[Position, str], list[Seen]] = {}
    for one in seen:
        groups.setdefault((atlas.home.span(one.node).start, one.name), []).append(one)
    order = sorted(groups.items(), key=lambda item: item[0])
    return [_value(at, name, group, atlas, filename) for (at, name), group in order]


def _value(at: Position, name: str, group: list[Seen], atlas: Atlas, filename: str) -> Value:
    paths = tuple(dict.fromkeys(one.belief.text for one in group))
    notes = tuple(dict.fromkeys(note for one in group for note in _notes(one, atlas.home)))
    taken = assumed(dict.fromkeys(each for one in group for each in one.assumed), atlas, None, filename)
    return Value(at.row, at.column, name, group[0].belief.kind, paths, group[0].belief.facts, notes, taken)


def _notes(one: Seen, places: Places) -> list[Note]:
    """Where a value was made, what has saved it, or why it is not known."""
    notes: list[Note] = []
    if one.made is not None:
        notes.append(Note(f"made by `{one.made[0]}`", _row(one.made[1], places)))
    for saver in one.savers:
        text = f"saved at v{saver.version} by `{saver.node.op}` for its backward"
        notes.append(Note(text, _row(saver.node.syntax, places)))
    if one.reason is not None:
        notes.append(Note(one.reason.text, _row(one.reason.node, places)))
    return notes


def _row(node: cst.CSTNode | None, places: Places) -> int | None:
    """Return the row in which a node begins; None for one of another file."""
    return places.span(node).start.row if node is not None and node in places else None
