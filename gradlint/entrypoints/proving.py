"""Findings put before torch: the part of the command line that starts the sandbox."""

from __future__ import annotations

import math
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace

from gradlint.confirm.prepare.link import lowered
from gradlint.confirm.prove import Prover
from gradlint.confirm.run.bubblewrap import Choice, UnavailableError, command
from gradlint.confirm.run.sandbox import Sandbox
from gradlint.confirm.run.syscalls import has_filter
from gradlint.domain.confirmation import Confirmation
from gradlint.domain.finding import SEVERITIES, Finding
from gradlint.entrypoints.problem import Problem
from gradlint.entrypoints.signals import signals_as_exits
from gradlint.fixes.edits import apply, moved
from gradlint.outcome import Crash, Outcome
from gradlint.rules.registry import all_rules
from gradlint.source.documents.kinds import in_program

Progress = Callable[[int, int], None]


_NO_WALL = (
    "findings are not confirmed here: this system has neither seccomp nor a bubblewrap that works, so nothing outside "
    "of Python would hold a program back; with --trust they are, for code that you would run yourself"
)
_OF_PLUGIN = "this is a rule of {}: gradlint knows what confirms its own rules, and no others"


class Terms:
    """On what terms the findings of one run are put before torch: in which sandbox, and for how long.

    The time is counted by the clock, and only between findings: what has been begun gets the verdict that it would have
    got on an idle machine.
    """

    def __init__(self, around: Choice, *, trust: bool, seconds: float = math.inf) -> None:
        """With `trust` also where nothing outside of Python would hold a program back.

        Raises:
            Problem: the sandbox is not on this system.
        """
        self._around, self.seconds, self._left = around, seconds, seconds
        try:
            wrapped = command(around, os.path.abspath(os.sep))
        except UnavailableError as error:
            raise Problem(f"--sandbox {around}: {error}") from error
        if not (trust or wrapped or has_filter()):
            raise Problem(_NO_WALL)

    @property
    def is_over(self) -> bool:
        """Whether the time is up."""
        return self._left <= 0

    @contextmanager
    def counted(self) -> Iterator[None]:
        """Take the time that this lasts off what is left."""
        begun = time.monotonic()
        try:
            yield
        finally:
            self._left -= time.monotonic() - begun

    def prover(self, *, shrink: bool) -> AbstractContextManager[Prover]:
        """Return a prover in the sandbox of these terms."""
        return prover(shrink=shrink, around=self._around)

    @contextmanager
    def sandbox(self) -> Iterator[Sandbox]:
        """Yield the sandbox of these terms; it ends with this, also at a signal."""
        with signals_as_exits(), Sandbox(around=self._around) as sandbox:
            yield sandbox


@contextmanager
def prover(*, shrink: bool, around: Choice = "none") -> Iterator[Prover]:
    """Yield a prover that knows what confirms each rule; its sandbox ends with it, also at a signal."""
    patterns = {rule.code: rule.error for rule in all_rules() if not rule.plugin and rule.error is not None}
    with signals_as_exits(), Sandbox(around=around) as sandbox:
        yield Prover(sandbox, patterns, shrink=shrink)


def confirmed(outcome: Outcome, progress: Progress, terms: Terms, *, repros: bool) -> Outcome:
    """The outcome with a verdict on each finding that was reached, the most severe first; a refuted one becomes info.

    `repros`: they will be read.
    """
    places = [(file, index) for file in range(len(outcome.files)) for index in range(len(outcome.files[file].findings))]
    places.sort(key=lambda place: SEVERITIES.index(outcome.files[place[0]].findings[place[1]].severity))
    paths = [os.path.abspath(file.filename) for file in outcome.files]
    findings = [list(file.findings) for file in outcome.files]
    crashes = [file.crash for file in outcome.files]
    done = 0
    with terms.prover(shrink=repros) as torch:
        for file, index in places:
            if terms.is_over:
                break
            finding, text = findings[file][index], outcome.files[file].text
            with terms.counted():
                try:
                    findings[file][index] = asked(torch, finding, text, paths)
                except Exception as error:  # The finding stands; that torch could not be asked is reported apart.
                    crash = crashes[file] = Crash.of(finding.filename, error)
                    verdict = Confirmation("unconfirmed", crash.summary)
                    findings[file][index] = replace(finding, confirmation=verdict)
            done += 1
            progress(done, len(places))
    files = [
        replace(file, findings=tuple(own), crash=crash)
        for file, own, crash in zip(outcome.files, findings, crashes, strict=True)
    ]
    return Outcome(tuple(files), (*outcome.warnings, *_not_reached(len(places) - done, len(places), terms.seconds)))


def _not_reached(number: int, total: int, seconds: float) -> Iterator[str]:
    if number:
        yield f"{number} of {total} findings were not reached within the {seconds:g} seconds of --confirm-seconds"


def asked(torch: Prover, finding: Finding, text: str, files: Sequence[str] = ()) -> Finding:
    """The finding with its verdict; `files` are the paths of all that are checked."""
    program, inside = in_program(text, finding)
    plugin = _plugin_of(finding)
    if plugin:
        verdict = Confirmation("unconfirmed", _OF_PLUGIN.format(plugin))
    else:
        verdict = torch.confirm(inside, program, files)
    severity = "info" if verdict.verdict == "refuted" else finding.severity
    return replace(finding, confirmation=verdict, severity=severity)


def healed(torch: Prover, finding: Finding, text: str) -> bool:
    """Whether torch shows the fault in the text, and no more once the fix is made; a safe one keeps the values, too."""
    after, made = apply(text, [finding])
    if not made or finding.fix is None or _plugin_of(finding):
        return False
    where = moved(text, [finding], finding.span.start)
    rows = after.count("\n", 0, where.start) + 1 - finding.span.start.row
    # Imports that the fix adds move all of its places down.
    mended = finding.relocated(
        lowered(finding.span, rows), lambda place: replace(place, span=lowered(place.span, rows))
    )
    return torch.heals(finding, text, after, mended, safe=finding.fix.safe)


def _plugin_of(finding: Finding) -> str:
    """Return the plugin whose rule it is; empty for one of gradlint's own."""
    return next((rule.plugin for rule in all_rules() if rule.code == finding.code), "")


def only_confirmed(outcome: Outcome) -> Outcome:
    """Return the outcome without what torch did not show."""

    def is_shown(finding: Finding) -> bool:
        return finding.confirmation is not None and finding.confirmation.verdict == "confirmed"

    return replace(
        outcome,
        files=tuple(replace(file, findings=tuple(filter(is_shown, file.findings))) for file in outcome.files),
    )
