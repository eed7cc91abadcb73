"""What is found in one program: interpret -> rules judge events -> what other files prove or add.

This loads the interpreter, the detectors and libcst, and nobody imports it before there is a program to look at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Protocol

import libcst as cst

from gradlint.detect import detectors
from gradlint.domain.event import Event
from gradlint.domain.finding import Finding
from gradlint.domain.frozen import Frozen
from gradlint.fixes.mend import without_fix_on_other_rows
from gradlint.interpreter.interpret import interpret
from gradlint.judgement import Entrances, findings_of, judge
from gradlint.rules.base import Rule
from gradlint.settings.silencing import OUT_OF_STEPS
from gradlint.settled import grounded, is_settled
from gradlint.source.files import Files, Unit
from gradlint.source.modes import called_off


class Interpreted(Protocol):
    """What the interpreter hands over."""

    @property
    def events(self) -> Sequence[Event]:
        """What torch was seen to do, in order."""

    @property
    def absences(self) -> Sequence[Event]:
        """What did not happen on any path; of other files this says nothing."""

    @property
    def units(self) -> Sequence[Unit]:
        """The other files that were read; events may be about nodes of these."""

    @property
    def entrances(self) -> Entrances:
        """The calls that led to each function of an installed package."""

    @property
    def give_ups(self) -> Mapping[str, int]:
        """What the interpreter gave up, counted."""


class Interpret(Protocol):
    """What runs a module."""

    def __call__(
        self, module: cst.Module, lines: int, path: str, other_files: Files, *, assumes: bool = True
    ) -> Interpreted:
        """Take the module, its number of lines, which bounds the work, and its file with those that it may import.

        With `assumes` false nothing is taken that is not known.
        """


INTERPRET: Interpret = partial(interpret, listeners=detectors)
"""The interpreter, with the detectors listening."""


class Rules(Frozen):
    """All rules, by which findings in other files are judged, and those that count in the file at hand."""

    every: tuple[Rule, ...]
    chosen: tuple[Rule, ...]


class Examined(Frozen):
    """What was found here and `elsewhere`, what was given up, and what the program calls with grad mode off.

    `complete`: the whole of the program was run.
    """

    found: tuple[Finding, ...]
    elsewhere: tuple[Finding, ...]
    give_ups: Mapping[str, int]
    called_off: frozenset[str]
    complete: bool


def examine(
    unit: Unit,
    text: str,
    path: str,
    filename: str,
    files: Files,
    rules: Rules,
    also: Sequence[Finding] = (),
    *,
    whole: bool = True,
    interpreter: Interpret | None = None,
) -> Examined:
    """Interpret a program and judge what happens; `also` is what the check of other files has found in this one."""
    run = partial(interpreter or INTERPRET, unit.module, text.count("\n") + 1, path, files)
    interpretation = run()
    written = unit.module.code if "\f" in text else text
    judged_as = partial(_judged, module=unit.module, text=written, filename=filename, rules=rules, whole=whole)
    found, elsewhere = judged_as(interpretation)
    if any(finding.assumptions for finding in (*found, *elsewhere)):
        bare = judged_as(run(assumes=False))
        found, elsewhere = grounded(found, bare[0]), grounded(elsewhere, bare[1])
    if written != text:
        found = tuple(without_fix_on_other_rows(finding, text, written) for finding in found)
    found = tuple(finding for finding in found if not is_settled(finding, also))
    found += tuple(finding for finding in also if not any(map(finding.repeats, found)))
    complete = whole and not interpretation.give_ups.get(OUT_OF_STEPS)
    return Examined(found, elsewhere, interpretation.give_ups, called_off(unit.module, text), complete)


def _judged(
    seen: Interpreted, module: cst.Module, text: str, filename: str, rules: Rules, whole: bool
) -> tuple[tuple[Finding, ...], tuple[Finding, ...]]:
    """The findings in this file, and those in others, whose configuration is not known here."""
    said = judge(seen.events, rules.every if seen.units else rules.chosen)
    missing = judge(seen.absences, rules.chosen) if whole else []
    found = findings_of(said, missing, module, text, filename, seen.units, seen.entrances) if said or missing else ()
    if not found:
        return (), ()
    codes = {rule.code for rule in rules.chosen}
    here = tuple(finding for finding in found if finding.filename == filename and finding.code in codes)
    return here, tuple(finding for finding in found if finding.filename != filename)
